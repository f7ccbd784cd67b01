"""Functions whose keyword arguments are fields of a problem."""

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from harness.problem.fields import ProblemField

Function = TypeVar("Function", bound=Callable[..., Any])


def with_arguments(
    fields: Mapping[str, ProblemField], arrays: Mapping[str, str]
) -> Callable[[Function], Function]:
    """Give a function that takes `**fields` these arrays and fields in its signature and its docstring."""

    def describe(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [
            argument
            for argument in signature.parameters.values()
            if argument.kind is not argument.VAR_KEYWORD
        ]
        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        added = [keyword(name, default=None, annotation=Any) for name in arrays]
        for name, field in fields.items():
            added.append(keyword(name, default=field.default, annotation=_annotation(field)))
        function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        described = {**arrays, **{name: field.description for name, field in fields.items()}}
        lines = "\n".join(map(_documented, described, described.values()))
        marker = next(line for line in (function.__doc__ or "").splitlines() if "**fields" in line)
        function.__doc__ = (function.__doc__ or "").replace(marker, f"{marker}\n{lines}")
        return function

    return describe


def _annotation(field: ProblemField) -> Any:
    values = Sequence[int] if field.kind is tuple else field.kind
    return values if field.default is not None else values | None


def _documented(name: str, description: str) -> str:
    indented = " " * 12
    return textwrap.fill(
        f"{name}: {description}", 110, initial_indent=indented, subsequent_indent=indented + "    "
    )
