"""What the fields of `AttentionProblem` are, for everything that mirrors them.

Options of the command line, axes of an experiment, arguments of `harness.attention` and columns of the
results are made of these, so that a field is declared once, in the model.
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from harness.problem.attention_problem import AttentionProblem

UNLIMITED = "none"
"""What stands for "not set", or for an unlimited side, where there is only text."""

LABELS = {
    "kv_heads": "key/value heads",
    "head_dim_v": "value dim",
    "seq_q": "query seq",
    "seq_kv": "key/value seq",
    "kv_lengths": "key/value lengths",
    "cu_seqlens_q": "query sequences",
    "cu_seqlens_kv": "key/value sequences",
    "log_sum_exp": "log-sum-exp",
}


@dataclass(frozen=True)
class ProblemField:
    """One field of a problem."""

    name: str
    annotation: Any
    """The type of its values, with the bounds of the model; None is not among them."""
    kind: type
    """`bool`, `int`, `float`, `str` or `tuple`."""
    is_optional: bool
    default: Any
    """None where it follows from other fields, or has to be given."""
    description: str
    """What it means, on one line."""
    length: int | None = None
    """How many values a tuple has; None is any number."""

    @property
    def label(self) -> str:
        """What it is called in words."""
        return LABELS.get(self.name, self.column_name.replace("_", " "))

    @property
    def column_name(self) -> str:
        """The column of results that holds it; `mask` is a column that names all that is hidden."""
        return "boolean_mask" if self.name == "mask" else self.name

    @property
    def separator(self) -> str:
        """What stands between the numbers of a tuple in tables: `256:0` for a pair, else commas."""
        return "," if self.length is None else ":"

    def column(self, value: Any) -> Any:
        """Return a value as a column of results holds it: tuples as text."""
        if not isinstance(value, tuple):
            return value
        return self.separator.join(UNLIMITED if number is None else str(number) for number in value)

    def from_column(self, value: Any) -> Any:
        """Return the value that a column of results holds, see `column`; the default where it holds none."""
        if value is None:
            return self.default
        return self.parsed(value.replace(self.separator, ",")) if self.kind is tuple else value

    def parsed(self, text: str) -> tuple[int | None, ...]:
        """Return the numbers of a tuple that is written with commas, `128,none`; raises `ValueError`."""
        numbers = tuple(None if part.strip() == UNLIMITED else int(part) for part in text.split(","))
        if self.length not in (None, len(numbers)) or (self.length is None and None in numbers):
            raise ValueError(text)
        return numbers


@cache
def problem_fields() -> Mapping[str, ProblemField]:
    """Return the fields of a problem by name, in the model's order."""
    fields = AttentionProblem.model_fields.items()
    return types.MappingProxyType({name: _field(name, field) for name, field in fields})


def _field(name: str, field: FieldInfo) -> ProblemField:
    alternatives = _alternatives(field.annotation)
    values = next(choice for choice in alternatives if choice is not types.NoneType)
    is_optional = types.NoneType in alternatives
    kind, length = _kind(values)
    return ProblemField(
        name=name,
        annotation=Annotated[values, *field.metadata] if field.metadata else values,
        kind=kind,
        is_optional=is_optional,
        default=field.default if isinstance(field.default, bool | int | float | str) else None,
        description=" ".join((field.description or "").replace("`", "").split()),
        length=length,
    )


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _kind(values: Any) -> tuple[type, int | None]:
    """Return the Python type of a field's values and, of tuples, how many numbers they have."""
    if get_origin(values) is Annotated:
        return _kind(get_args(values)[0])
    if get_origin(values) is Literal:
        return str, None
    if get_origin(values) is tuple:
        arguments = get_args(values)
        return tuple, None if Ellipsis in arguments else len(arguments)
    return values, None
