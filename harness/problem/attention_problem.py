"""The attention problem: what is to be computed, independently of how and where.

Knows nothing of MLIR.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from pydantic import ValidationError, model_validator

from harness.problem.attention_fields import USUAL_BIAS_AXES, AttentionFields, usual_scale
from harness.problem.band import Band, Window, shortened_window
from harness.problem.dtypes import BOOLEAN, ArrayType, itemsize
from harness.problem.names_of_values import name_of_float, name_of_list
from harness.problem.outputs import LOG_SUM_EXP, OUTPUT
from harness.system.errors import InputError
from harness.system.validation import messages

FLOP_CONVENTION = "visible pairs × 2·(head_dim + head_dim_v)"
"""Q·Kᵀ and P·V, a multiplication and an addition each.  Pairs that causality, a window or lengths hide are
not counted; those that a boolean mask hides are."""

LARGEST_COUNT = 2**63 - 1
"""Most FLOPs, and most bytes, of a problem: tables count in 64-bit integers."""

SIZES = ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim", "head_dim_v")
"""Fields that every problem has, and that arrays say."""

TOLD_BY_MASK = ("causal", "causal_alignment", "mask", "mask_axes", "window")
"""Fields whose values `mask_name` tells."""

TOLD_WITH_OTHERS = frozenset((*SIZES, "dtype", *TOLD_BY_MASK, "bias_axes"))
"""Fields whose values begin the description of a problem, or are told with another field's."""

LISTS_OF_LENGTHS = ("kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Fields that hold a number for each sequence."""

OPERANDS = {
    "mask": "boolean, true where visible; broadcasts to `[batch, heads, seq_q, seq_kv]`.",
    "bias": "added to the scaled scores, in the dtype of `q`; broadcasts likewise.",
    "sinks": "`[heads]`, a logit of each head that joins the softmax's sum, in the dtype of `q`.",
}
"""Arrays that problems may have beside Q, K and V, by the names of the fields that ask for them."""

SCORE_AXES = "bhqk"
"""Letters of the axes of scores: batch, heads, queries, keys."""


class AttentionProblem(AttentionFields):
    """One attention forward pass, `O = softmax(masks(bias + softcap(scale · Q·Kᵀ))) · V`.

    Q is `[batch, heads, seq_q, head_dim]`, K `[batch, kv_heads, seq_kv, head_dim]`, V
    `[batch, kv_heads, seq_kv, head_dim_v]` and O `[batch, heads, seq_q, head_dim_v]`.  With
    `cu_seqlens_q` and `cu_seqlens_kv` the sequences are packed instead: Q is `[tokens, heads, head_dim]`
    and so on, `seq_q` and `seq_kv` are the longest sequences and `batch` is their number.
    A query that sees no key gives 0.
    """

    def __init__(self, **fields: Any) -> None:
        """Make a problem of its fields; raises `InputError`, a line for each field that is wrong."""
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InputError(*messages(error, model=type(self))) from error

    # Pydantic calls a constructor of one's own when it reads JSON, too; there its own errors are expected.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="after")
    def _countable(self) -> Self:
        for what, count in (("FLOPs", self.flops()), ("bytes", self.bytes())):
            if count > LARGEST_COUNT:
                raise ValueError(f"a problem of {count:.1e} {what} is too large, expected fewer than 2⁶³")
        return self

    @property
    def is_packed(self) -> bool:
        """Whether Q, K and V are packed sequences, `[tokens, heads, head_dim]`."""
        return self.cu_seqlens_q is not None

    @property
    def group_size(self) -> int:
        """Query heads that share one head of K and V."""
        return self.heads // self.kv_heads

    @property
    def q_shape(self) -> tuple[int, ...]:
        """Shape of Q."""
        if self.cu_seqlens_q is not None:
            return (self.cu_seqlens_q[-1], self.heads, self.head_dim)
        return (self.batch, self.heads, self.seq_q, self.head_dim)

    @property
    def k_shape(self) -> tuple[int, ...]:
        """Shape of K."""
        if self.cu_seqlens_kv is not None:
            return (self.cu_seqlens_kv[-1], self.kv_heads, self.head_dim)
        return (self.batch, self.kv_heads, self.seq_kv, self.head_dim)

    @property
    def v_shape(self) -> tuple[int, ...]:
        """Shape of V."""
        return (*self.k_shape[:-1], self.head_dim_v)

    @property
    def attended_shape(self) -> tuple[int, ...]:
        """Shape of what the heads give: the output, unless it is projected."""
        return (*self.q_shape[:-1], self.head_dim_v)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the output."""
        if self.output_projection:
            return (self.batch, self.seq_q, self.model_width or 0)
        return self.attended_shape

    @property
    def log_sum_exp_shape(self) -> tuple[int, ...]:
        """Shape of the log-sum-exp of rows."""
        if self.cu_seqlens_q is not None:
            return (self.heads, self.cu_seqlens_q[-1])
        return (self.batch, self.heads, self.seq_q)

    @property
    def scores_shape(self) -> tuple[int, int, int, int]:
        """Shape of the scores of padded batches, to which masks and biases broadcast."""
        return self.batch, self.heads, self.seq_q, self.seq_kv

    @property
    def mask_shape(self) -> tuple[int, int, int, int]:
        """Shape of the boolean mask, where the problem has one."""
        return self._broadcast_shape(self.mask_axes)

    @property
    def bias_shape(self) -> tuple[int, int, int, int]:
        """Shape of the bias, where the problem has one."""
        return self._broadcast_shape(self.bias_axes)

    def operands(self) -> dict[str, ArrayType]:
        """Return those of `OPERANDS` that the problem has."""
        operands = {}
        if self.mask:
            operands["mask"] = ArrayType(self.mask_shape, BOOLEAN)
        if self.bias:
            operands["bias"] = ArrayType(self.bias_shape, self.dtype)
        if self.sinks:
            operands["sinks"] = ArrayType((self.heads,), self.dtype)
        return operands

    def outputs(self) -> dict[str, ArrayType]:
        """Return the outputs of the problem by name."""
        outputs = {OUTPUT: ArrayType(self.output_shape, self.dtype)}
        if self.log_sum_exp:
            outputs[LOG_SUM_EXP] = ArrayType(self.log_sum_exp_shape, "f32")
        return outputs

    def _broadcast_shape(self, axes: str) -> tuple[int, int, int, int]:
        """Return the shape of what differs along some axes of scores, and has size 1 along the others."""
        b, h, q, k = (
            size if letter in axes else 1 for letter, size in zip(SCORE_AXES, self.scores_shape, strict=True)
        )
        return b, h, q, k

    @property
    def window_sides(self) -> Window:
        """The window's sides, no longer than the longest sequence has room for; None: unlimited."""
        return shortened_window(self.window, self.seq_q, self.seq_kv)

    def different_lengths(self) -> Counter[tuple[int, int]]:
        """Return how many batch entries have each (queries, keys); never as long as the batch is large."""
        if self.cu_seqlens_q is None and self.kv_lengths is None:
            return Counter({(self.seq_q, self.seq_kv): self.batch})
        return Counter(self.sequence_lengths())

    def band(self, seq_q: int, seq_kv: int) -> Band:
        """Return what causal and window masks leave visible in a sequence of these lengths."""
        shift = seq_kv - seq_q
        left, right = self.window_sides
        ends = [] if right is None else [shift + right + 1]
        if self.causal:
            ends.append(1 + (shift if self.causal_alignment == "bottom-right" else 0))
        return Band(
            queries=seq_q,
            keys=seq_kv,
            first=None if left is None else shift - left,
            end=min(ends, default=None),
        )

    def hiding_window(self, seq_q: int, seq_kv: int) -> tuple[int | None, int | None]:
        """Return (first, end) such that query i sees keys from i + first to before i + end.

        None where causality and window hide nothing on that side, whatever the query.
        """
        band = self.band(seq_q, seq_kv)
        hides_first = band.first is not None and band.first + seq_q > 1
        hides_end = band.end is not None and band.end < seq_kv
        return band.first if hides_first else None, band.end if hides_end else None

    def visible_range(self, queries: np.ndarray, seq_q: int, seq_kv: int) -> tuple[np.ndarray, np.ndarray]:
        """Return [first, past-the-end) key seen by each query index under causal and window masks."""
        return self.band(seq_q, seq_kv).visible_range(queries)

    def visible_pairs(self) -> int:
        """Return how many (query, key) pairs of one head are visible, summed over the batch.

        Exact for causal, window and lengths; a boolean mask's pairs depend on data and count as visible.
        """
        return self._over_batch(Band.visible_pairs)

    def queries_without_keys(self) -> int:
        """Return how many queries of one head see no key, whatever the boolean mask hides besides."""
        return self._over_batch(Band.queries_without_keys)

    def _over_batch(self, count: Callable[[Band], int]) -> int:
        lengths = self.different_lengths().items()
        return sum(sequences * count(self.band(*of_each)) for of_each, sequences in lengths)

    def flops(self) -> int:
        """Return the floating-point operations of the two matrix products, see `FLOP_CONVENTION`."""
        attention = self.heads * self.visible_pairs() * 2 * (self.head_dim + self.head_dim_v)
        return attention + self.projection_flops()

    def projection_flops(self) -> int:
        """Return the floating-point operations of X·Wq, X·Wk, X·Wv and Z·Wo, 0 without projections."""
        return 2 * self.batch * self.seq_q * (self.model_width or 0) * self.weight_columns()

    def weight_columns(self) -> int:
        """Return how many numbers all weights of projections have for each column of X."""
        of_inputs = self.heads * self.head_dim + self.kv_heads * (self.head_dim + self.head_dim_v)
        return of_inputs + (self.heads * self.head_dim_v if self.output_projection else 0)

    @property
    def flop_convention(self) -> str:
        """What `flops` counts, in words."""
        return FLOP_CONVENTION + (" + projections" if self.model_width is not None else "")

    def bytes(self) -> int:
        """Return the size of all inputs and outputs; `harness.problem.traffic` tells what must be moved."""
        if self.model_width is None:
            elements = sum(math.prod(shape) for shape in (self.q_shape, self.k_shape, self.v_shape))
        else:
            elements = self.model_width * (self.batch * self.seq_q + self.weight_columns())
        others = (*self.operands().values(), *self.outputs().values())
        return elements * itemsize(self.dtype) + sum(array.nbytes for array in others)

    @property
    def mask_name(self) -> str:
        """Name what is visible, for tables and figure panels: `full`, `causal`, `causal+window` …"""
        names = []
        if self.causal:
            names.append("causal" if self.causal_alignment == "bottom-right" else "causal-top-left")
        if self.window is not None:
            names.append(f"window({','.join('∞' if s is None else str(s) for s in self.window)})")
        if self.mask:
            names.append("boolean" + _other_axes(self.mask_axes, "bqk"))
        if self.kv_lengths is not None or self.is_packed:
            names.append("lengths")
        return "+".join(names) or "full"

    def describe(self) -> str:
        """Return the problem in one short line, `b1 h8 s256 d64 f32 causal`."""
        return describe_fields({**dict(self), "mask": self.mask_name})


def describe_fields(fields: Mapping[str, Any]) -> str:
    """Return a problem in one short line, another one for another problem.

    `fields` are its fields by name, but `mask` is `mask_name`; lists of lengths may be texts already.
    """
    words = [
        f"b{fields['batch']}",
        f"h{fields['heads']}" + (f"/{fields['kv_heads']}" if fields["kv_heads"] != fields["heads"] else ""),
        f"s{fields['seq_q']}" + (f"×{fields['seq_kv']}" if fields["seq_kv"] != fields["seq_q"] else ""),
        f"d{fields['head_dim']}"
        + (f"/{fields['head_dim_v']}" if fields["head_dim_v"] != fields["head_dim"] else ""),
        str(fields["dtype"]),
        str(fields["mask"]),
    ]
    usual_values = {"scale": usual_scale(max(int(fields["head_dim"]), 1))}
    for name, field in AttentionProblem.model_fields.items():
        value = fields.get(name)
        if name in TOLD_WITH_OTHERS or value is None or value == usual_values.get(name, field.default):
            continue
        words.append(name if value is True else f"{name}={_value_name(value)}")
        if name == "bias":
            words[-1] += _other_axes(fields.get("bias_axes") or USUAL_BIAS_AXES, USUAL_BIAS_AXES)
    return " ".join(words)


def _value_name(value: Any) -> str:
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return name_of_list(value) if isinstance(value, str) else name_of_float(value)


def _other_axes(axes: str, usual: str) -> str:
    return "" if axes == usual else f"({axes})"
