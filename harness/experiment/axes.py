"""The axes of an experiment's problems: a table in which every list is swept.

`[problem]` and each `[[problems]]` table is one product of axes.  Order of the sweep: the fields of
`ProblemAxes` from top to bottom, the first varies slowest, so that sequence lengths vary fastest.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    create_model,
    model_validator,
)

from harness.problem.attention_fields import Size
from harness.problem.attention_problem import AttentionProblem
from harness.problem.fields import UNLIMITED, ProblemField, problem_fields
from harness.system.errors import InputError
from harness.system.validation import FrozenModel, each_once, plain_entries, shown

T = TypeVar("T")


def as_axis(value: Any) -> Any:
    """Return the values of an axis: a list's elements, or a single value as an axis of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _as_axis_of_lists(value: Any) -> Any:
    """Return the values of an axis whose values are lists: a list of lists is the axis."""
    is_axis = isinstance(value, list | tuple) and any(isinstance(v, list | tuple | str) for v in value)
    values = value if is_axis else [value]
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


def _none_by_name(value: Any) -> Any:
    """Read the word `none`, since TOML has no null."""
    return None if value == UNLIMITED else value


def _pair(value: Any) -> Any:
    """Read a window, `[left, right]`."""
    if value is not None and not (isinstance(value, tuple) and len(value) == 2):
        raise ValueError(f"found {shown(value)}, expected a pair [left, right], or a list of such pairs")
    return value


Axis = Annotated[tuple[T, ...], Field(min_length=1), BeforeValidator(as_axis), AfterValidator(each_once)]
AxisOfLists = Annotated[
    tuple[T, ...], Field(min_length=1), BeforeValidator(_as_axis_of_lists), AfterValidator(each_once)
]


def _axis(field: ProblemField) -> Any:
    values = field.annotation
    if field.length is not None:
        values = Annotated[values, BeforeValidator(_pair)]
    if field.is_optional or field.name == "scale":
        values = Annotated[values | None, BeforeValidator(_none_by_name)]
    axis: Any = AxisOfLists if field.kind is tuple else Axis
    return axis[values]


def _sweep_order(field: ProblemField) -> int:
    """Return what varies slowest first: what is computed, then sizes, then lists of lengths, then lengths."""
    if field.name.startswith("seq_"):
        return 3
    if field.kind is tuple and field.length is None:
        return 2
    return 1 if field.kind is int and not field.is_optional else 0


def _axes() -> dict[str, Any]:
    ordered = sorted(problem_fields().values(), key=_sweep_order)
    axes: dict[str, Any] = {}
    for field in ordered:
        if field.name == "batch":
            axes |= {"tokens": Axis[Size] | None, "hidden": Axis[Size] | None}
        if field.name == "seq_q":
            axes["seq"] = Axis[Size] | None
        axes[field.name] = _axis(field) | None
    return {name: (axis, None) for name, axis in axes.items()} | {"head_dim": (axes["head_dim"], ...)}


_ProblemTable: Any = create_model("_ProblemTable", __base__=FrozenModel, **_axes())


class ProblemAxes(_ProblemTable):
    """Values of the fields of `AttentionProblem`, each an axis; see there for what the fields mean.

    Besides them `seq` sets `seq_q` and `seq_kv` at once, `tokens` fixes batch = tokens / seq_q and `hidden`
    fixes heads = hidden / head_dim, as papers do.  `"none"` stands for an optional field that is not set;
    a window's unlimited side is −1.
    """

    @model_validator(mode="before")
    @classmethod
    def _plain_values(cls, table: Any) -> Any:
        """Take what Python code can write, lists and NumPy's numbers, as what a file can hold."""
        return plain_entries(table) if isinstance(table, dict) else table

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        """Refuse two keys that set the same field, and a size that no key sets."""
        mistakes = [
            f"{key} and {fixed} both set {fixed}; expected one of them"
            for key, fixed in (("seq", "seq_q"), ("seq", "seq_kv"), ("tokens", "batch"), ("hidden", "heads"))
            if getattr(self, key) is not None and getattr(self, fixed) is not None
        ]
        if self.heads is None and self.hidden is None:
            mistakes.append("heads is missing; expected heads, or hidden = heads · head_dim")
        if self.seq is None and self.seq_q is None and self.cu_seqlens_q is None:
            mistakes.append("seq is missing; expected seq, or seq_q and seq_kv")
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    def problems(self) -> Iterator[AttentionProblem]:
        """Yield the problem at every point of the product; then raises `ValueError` if some are none.

        It has a line for each reason, with the first point that it is one for.
        """
        axes = self._axes()
        mistakes: dict[str, str] = {}
        for point in itertools.product(*axes.values()):
            try:
                yield _problem(dict(zip(axes, point, strict=True)))
            except ValueError as error:
                mistakes.setdefault(str(error).partition(" (in ")[0], str(error))
        if mistakes:
            raise ValueError("\n".join(mistakes.values()))

    @property
    def count(self) -> int:
        """How many problems the lists multiply to."""
        return math.prod(map(len, self._axes().values()))

    def _axes(self) -> dict[str, tuple[Any, ...]]:
        values = {name: getattr(self, name) for name in ProblemAxes.model_fields}
        return {name: axis for name, axis in values.items() if axis is not None}


def _problem(point: dict[str, Any]) -> AttentionProblem:
    fields = {name: value for name, value in point.items() if value is not None}
    if "seq" in fields:
        fields["seq_q"] = fields["seq_kv"] = fields.pop("seq")
    if "tokens" in fields:
        fields["batch"] = _divided(fields, "tokens", "seq_q")
    if "hidden" in fields:
        fields["heads"] = _divided(fields, "hidden", "head_dim")
    try:
        return AttentionProblem(**fields)
    except InputError as error:
        raise ValueError(f"{'; '.join(error.lines)} (in {_values(point)})") from error


def _divided(fields: dict[str, Any], key: str, divisor: str) -> int:
    """Remove `key` and return its value over the divisor's, which must divide it."""
    total = fields.pop(key)
    if divisor not in fields:
        raise ValueError(f"{key} needs {divisor} or seq")
    if total % fields[divisor]:
        raise ValueError(f"{key} {total} is not a multiple of {divisor} {fields[divisor]}")
    return int(total // fields[divisor])


def _values(point: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in point.items())


def problem_values(problem: AttentionProblem) -> dict[str, Any]:
    """Return what conditions and filters may ask of a problem: its fields, and `seq`, of equal lengths."""
    return {**problem.model_dump(), "seq": problem.seq_q if problem.seq_q == problem.seq_kv else None}


PROBLEM_NAMES = ("seq", *AttentionProblem.model_fields)

CONDITION_NAMES = (*PROBLEM_NAMES, "target")
"""What a variant's `where` may ask about: the problem, and the name of the target."""
