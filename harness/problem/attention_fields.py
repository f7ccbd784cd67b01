"""What an attention problem is given by: its fields, what they default to, and how they must fit each other.

Conventions of the field that are easy to get wrong are stated at each field.
"""

import itertools
import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from harness.problem.dtypes import DTypeName, short_name
from harness.system.validation import plain_entries, shown

LARGEST_SIZE = 2**31 - 1
"""Largest size of a dimension: kernels count in 32-bit integers (`cu_seqlens`, grids)."""

LARGEST_FACTOR = 1e38
"""Largest |scale|: kernels compute scores in f32, which also holds this number times log2 e."""

SOFTCAPS = (1e-30, 1e30)
"""Least and largest softcap: f32 holds scores over it, and what is left of them, with all their digits."""

USUAL_BIAS_AXES = "hqk"
"""Axes along which a bias differs where a problem does not say it."""

Size = Annotated[int, Field(gt=0, le=LARGEST_SIZE)]
ScoreAxes = Annotated[str, Field(min_length=1, pattern="^b?h?q?k?$")]
WindowSide = Annotated[int, Field(ge=-1, le=LARGEST_SIZE)]


class AttentionFields(BaseModel):
    """The fields of `AttentionProblem`, which says what follows from them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    batch: Size = 1
    """Sequences that are computed independently of each other."""
    heads: Size
    """Heads of Q and of the output."""
    kv_heads: Size
    """Heads of K and V; fewer than `heads` is grouped-query attention.  Defaults to `heads`."""
    seq_q: Size
    """Queries of a sequence."""
    seq_kv: Size
    """Keys of a sequence.  Defaults to `seq_q`."""
    head_dim: Size
    """Width of Q and K."""
    head_dim_v: Size
    """Width of V and of the output.  Defaults to `head_dim`."""
    dtype: Annotated[DTypeName, BeforeValidator(short_name)] = "f32"
    """Element type of the inputs and the output: `f32`, `f16` or `bf16`, the long names are accepted."""
    causal: bool = False
    """Hide later keys: query i sees keys j ≤ i + seq_kv − seq_q, or as `causal_alignment` says.

    Both lengths are those of a query's own sequence where sequences have lengths of their own.
    """
    causal_alignment: Literal["bottom-right", "top-left"] = "bottom-right"
    """Bottom-right (FlashAttention 2): query i sees keys j ≤ i + seq_kv − seq_q.  Top-left: j ≤ i."""
    mask: bool = False
    """A boolean mask, true where a key is visible, is an input that broadcasts to
    `[batch, heads, seq_q, seq_kv]`."""
    mask_axes: ScoreAxes = "bqk"
    """Axes along which the boolean mask differs, some of `bhqk` (batch, head, query, key) in this order."""
    bias: bool = False
    """An additive bias on the scaled scores is an input that broadcasts likewise."""
    bias_axes: ScoreAxes = USUAL_BIAS_AXES
    """Axes along which the bias differs, likewise."""
    sinks: bool = False
    """A logit of each head, an input `[heads]`, joins the sum of the softmax as one more key of value 0 does:
    weights add up to less than 1."""
    log_sum_exp: bool = False
    """The logarithm of the sum that each row's weights are divided by, log Σ exp(score), f32, is a second
    output `[batch, heads, seq_q]`, or of packed sequences `[heads, tokens]`.  A sink counts; without
    one it is −∞ where a query sees no key."""
    window: tuple[WindowSide | None, WindowSide | None] | None = None
    """(left, right): query i sees keys from i + shift − left to i + shift + right, where shift is
    seq_kv − seq_q.  A side that is None or −1 is unlimited."""
    softcap: float | None = Field(default=None, ge=SOFTCAPS[0], le=SOFTCAPS[1], allow_inf_nan=False)
    """Scaled scores become `softcap · tanh(score / softcap)` before bias and masks."""
    scale: Annotated[FiniteFloat, Field(ge=-LARGEST_FACTOR, le=LARGEST_FACTOR)]
    """Multiplies Q·Kᵀ.  Defaults to 1/√head_dim."""
    kv_lengths: tuple[Annotated[int, Field(ge=0, le=LARGEST_SIZE)], ...] | None = None
    """Valid keys of each batch entry (padded batches); causal and window align to them."""
    cu_seqlens_q: tuple[Annotated[int, Field(ge=0, le=LARGEST_SIZE)], ...] | None = None
    """Cumulative query lengths of packed sequences, batch + 1 values from 0."""
    cu_seqlens_kv: tuple[Annotated[int, Field(ge=0, le=LARGEST_SIZE)], ...] | None = None
    """Cumulative key lengths of packed sequences, likewise."""
    model_width: Size | None = None
    """Width of X where the projections X·Wq, X·Wk, X·Wv are part of the problem."""
    output_projection: bool = False
    """Whether the heads are joined and projected back to the width of X: the output is then Z·Wo,
    `[batch, seq, model_width]`, with Z `[batch, seq, heads · head_dim_v]`."""

    @model_validator(mode="before")
    @classmethod
    def _fill_defaults(cls, data: Any) -> Any:
        """Derive what follows from other fields, so that every field of a problem is concrete."""
        if not isinstance(data, dict):
            return data
        data = plain_entries(data)
        lengths_from_cumulative(data)
        set_default(data, "kv_heads", size_or_one(data.get("heads")))
        set_default(data, "seq_kv", size_or_one(data.get("seq_q")))
        set_default(data, "head_dim_v", size_or_one(data.get("head_dim")))
        set_default(data, "scale", usual_scale(size_or_one(data.get("head_dim"))))
        return data

    @field_validator("window", mode="before")
    @classmethod
    def _pair_of_sides(cls, value: Any) -> Any:
        if value is not None and not (isinstance(value, list | tuple) and len(value) == 2):
            raise ValueError(f"found {shown(value)}, expected a pair [left, right]")
        return value

    @field_validator("window", mode="after")
    @classmethod
    def _unlimited_window(cls, value: tuple[int | None, int | None] | None) -> Any:
        """Spell −1, the field's other word for unlimited, as None."""
        if value is None:
            return None
        left, right = (None if side == -1 else side for side in value)
        return None if left is None and right is None else (left, right)

    @field_validator("causal_alignment", "mask_axes", "bias_axes", mode="after")
    @classmethod
    def _usual_without_use(cls, value: str, info: ValidationInfo) -> str:
        """Spell what means nothing, such as axes of a mask that there is not, as the field's default.

        Equal problems are then equal, and so are the ids of their cases.
        """
        name = info.field_name or ""
        is_used = info.data.get(name.partition("_")[0])
        return value if is_used else str(cls.model_fields[name].default)

    @field_validator("scale", mode="after")
    @classmethod
    def _one_zero(cls, value: float) -> float:
        """Spell −0 as 0."""
        return value + 0.0

    @field_validator("cu_seqlens_q", "cu_seqlens_kv", mode="after")
    @classmethod
    def _rising(cls, values: tuple[int, ...] | None) -> Any:
        if values is not None and not are_cumulative(values):
            raise ValueError(f"found {shown(values)}, expected at least two values, from 0 and never falling")
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}")
        if self.kv_lengths is not None:
            if len(self.kv_lengths) != self.batch:
                raise ValueError(f"kv_lengths has {len(self.kv_lengths)} values for batch {self.batch}")
            if max(self.kv_lengths) > self.seq_kv:
                lengths = shown(self.kv_lengths)
                raise ValueError(f"kv_lengths must lie in 0 … seq_kv {self.seq_kv}: found {lengths}")
        if self.model_width is not None and self.cu_seqlens_q is not None:
            raise ValueError("model_width is for batches of one length; cu_seqlens packs several")
        if self.model_width is not None and self.seq_q != self.seq_kv:
            raise ValueError(
                "model_width means that queries and keys come from the same tokens: expected seq_q = seq_kv, "
                f"found {self.seq_q} and {self.seq_kv}"
            )
        if self.output_projection and self.model_width is None:
            raise ValueError("output_projection is back to the width of tokens: expected a model_width, too")
        self._check_packed()
        return self

    def _check_packed(self) -> None:
        """Raise `ValueError` where packed sequences do not fit each other or another field."""
        if (self.cu_seqlens_q is None) != (self.cu_seqlens_kv is None):
            raise ValueError("cu_seqlens_q and cu_seqlens_kv come together")
        if self.cu_seqlens_q is None or self.cu_seqlens_kv is None:
            return
        if self.kv_lengths is not None:
            raise ValueError("kv_lengths is for padded batches; cu_seqlens_kv already gives lengths")
        if self.mask or self.bias:
            raise ValueError("mask and bias are for padded batches, not for packed sequences")
        for name, values in (("q", self.cu_seqlens_q), ("kv", self.cu_seqlens_kv)):
            if len(values) != self.batch + 1:
                raise ValueError(f"cu_seqlens_{name} has {len(values)} values for batch {self.batch}")
        longest_q, longest_kv = (max(lengths) for lengths in zip(*self.sequence_lengths(), strict=True))
        for name, length, longest in (("q", self.seq_q, longest_q), ("kv", self.seq_kv, longest_kv)):
            if length != max(1, longest):
                raise ValueError(
                    f"seq_{name} is {length}, the longest sequence of cu_seqlens_{name} {longest}"
                )

    def sequence_lengths(self) -> list[tuple[int, int]]:
        """Return (queries, keys) of each batch entry."""
        if self.cu_seqlens_q is not None and self.cu_seqlens_kv is not None:
            starts = zip(*map(itertools.pairwise, (self.cu_seqlens_q, self.cu_seqlens_kv)), strict=False)
            return [(q1 - q0, k1 - k0) for (q0, q1), (k0, k1) in starts]
        lengths = self.kv_lengths or (self.seq_kv,) * self.batch
        return [(self.seq_q, length) for length in lengths]


def usual_scale(head_dim: int) -> float:
    """Return what scores are multiplied by where a problem does not say it."""
    return 1.0 / math.sqrt(head_dim)


def size_or_one(value: Any) -> int:
    """Return what other fields default to: 1 for a bad or missing value, so that only its own error shows."""
    return value if type(value) is int and 0 < value <= LARGEST_SIZE else 1


def set_default(data: dict[str, Any], key: str, value: Any) -> None:
    """Set a field that is not given."""
    if data.get(key) is None:
        data[key] = value


def lengths_from_cumulative(data: dict[str, Any]) -> None:
    """Derive `batch`, `seq_q` and `seq_kv` of packed sequences from their cumulative lengths."""
    for key, seq in (("cu_seqlens_q", "seq_q"), ("cu_seqlens_kv", "seq_kv")):
        values = data.get(key)
        if values is None:
            continue
        steps = [1]
        if are_cumulative(values):
            steps = [after - before for before, after in itertools.pairwise(values)]
        set_default(data, "batch", len(steps))
        set_default(data, seq, max(1, *steps))


def are_cumulative(values: Any) -> bool:
    """Whether values are lengths added up: at least two integers, from 0 and never falling."""
    if not isinstance(values, tuple) or len(values) < 2 or any(type(value) is not int for value in values):
        return False
    return values[0] == 0 and all(before <= after for before, after in itertools.pairwise(values))
