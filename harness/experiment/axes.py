"""The axes of an experiment's problems: a table in which every list is swept.

`[problem]` and each `[[problems]]` table is one product of axes.  Order of the sweep: the fields of
`ProblemAxes` from top to bottom, the first varies slowest, so that sequence lengths vary fastest.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PositiveInt,
    model_validator,
)

from harness.errors import InputError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import LONG_NAMES, DTypeName
from harness.validation import each_once, shown

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
    return None if value == "none" else value


def _pair(value: Any) -> Any:
    """Read a window, `[left, right]`."""
    value = _none_by_name(value)
    if value is not None and not (isinstance(value, tuple) and len(value) == 2):
        raise ValueError(f"found {shown(value)}, expected a pair [left, right], or a list of such pairs")
    return value


def _short_dtype(value: Any) -> Any:
    return LONG_NAMES.get(value, value) if isinstance(value, str) else value


Axis = Annotated[tuple[T, ...], Field(min_length=1), BeforeValidator(as_axis), AfterValidator(each_once)]
AxisOfLists = Annotated[
    tuple[T, ...], Field(min_length=1), BeforeValidator(_as_axis_of_lists), AfterValidator(each_once)
]

Lengths = Annotated[tuple[int, ...] | None, BeforeValidator(_none_by_name)]
Window = Annotated[tuple[int, int] | None, BeforeValidator(_pair)]
Scale = Annotated[FiniteFloat | None, BeforeValidator(_none_by_name)]
Softcap = Annotated[Annotated[float, Field(gt=0, allow_inf_nan=False)] | None, BeforeValidator(_none_by_name)]


class ProblemAxes(BaseModel):
    """Values of the fields of `AttentionProblem`, each an axis; see there for what the fields mean.

    Besides them `seq` sets `seq_q` and `seq_kv` at once, `tokens` fixes batch = tokens / seq_q and `hidden`
    fixes heads = hidden / head_dim, as papers do.  `"none"` stands for an optional field that is not set;
    a window's unlimited side is −1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dtype: Axis[Annotated[DTypeName, BeforeValidator(_short_dtype)]] | None = None
    causal: Axis[bool] | None = None
    causal_alignment: Axis[Literal["bottom-right", "top-left"]] | None = None
    mask: Axis[bool] | None = None
    bias: Axis[bool] | None = None
    window: AxisOfLists[Window] | None = None
    softcap: Axis[Softcap] | None = None
    scale: Axis[Scale] | None = None
    model_width: Axis[PositiveInt] | None = None
    tokens: Axis[PositiveInt] | None = None
    hidden: Axis[PositiveInt] | None = None
    batch: Axis[PositiveInt] | None = None
    heads: Axis[PositiveInt] | None = None
    kv_heads: Axis[PositiveInt] | None = None
    head_dim: Axis[PositiveInt]
    head_dim_v: Axis[PositiveInt] | None = None
    kv_lengths: AxisOfLists[Lengths] | None = None
    cu_seqlens_q: AxisOfLists[Lengths] | None = None
    cu_seqlens_kv: AxisOfLists[Lengths] | None = None
    seq: Axis[PositiveInt] | None = None
    seq_q: Axis[PositiveInt] | None = None
    seq_kv: Axis[PositiveInt] | None = None

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        """Refuse two keys that set the same field, and a size that no key sets."""
        for key, fixed in (("seq", "seq_q"), ("seq", "seq_kv"), ("tokens", "batch"), ("hidden", "heads")):
            if getattr(self, key) is not None and getattr(self, fixed) is not None:
                raise ValueError(f"{key} and {fixed} both set {fixed}; expected one of them")
        if self.heads is None and self.hidden is None:
            raise ValueError("heads is missing; expected heads, or hidden = heads · head_dim")
        if self.seq is None and self.seq_q is None and self.cu_seqlens_q is None:
            raise ValueError("seq is missing; expected seq, or seq_q and seq_kv")
        return self

    def problems(self) -> Iterator[AttentionProblem]:
        """Yield the problem at every point of the product; raises `ValueError` at a point that is none."""
        axes = {
            name: values for name in type(self).model_fields if (values := getattr(self, name)) is not None
        }
        for point in itertools.product(*axes.values()):
            yield _problem(dict(zip(axes, point, strict=True)))


def _problem(point: dict[str, Any]) -> AttentionProblem:
    """Return the problem of one value per axis."""
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
    return ", ".join(f"{name} = {value}" for name, value in point.items())


def problem_values(problem: AttentionProblem) -> dict[str, Any]:
    """Return what conditions and filters may ask of a problem: its fields, and `seq`, the longer length."""
    return {**problem.model_dump(), "seq": max(problem.seq_q, problem.seq_kv)}


PROBLEM_NAMES = ("seq", *AttentionProblem.model_fields)
"""The names that `problem_values` defines."""
