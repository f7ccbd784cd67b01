"""Payloads and steps that several of the named schedules share."""

from typing import TYPE_CHECKING

from harness.problem.attention_problem import AttentionProblem
from harness.variants.schedule import Step

if TYPE_CHECKING:
    from mlir import ir

SMALL = {"batch": 2, "heads": 2, "seq_q": 8, "seq_kv": 12, "head_dim": 4}
"""Two tiles of queries and three of keys, in tiles of 4."""


def multi_head(**sizes: int) -> "ir.Module":
    """Return multi-head attention on `[batch, heads, seq, head_dim]`."""
    from harness.payloads.attention import multi_head_attention

    return multi_head_attention(AttentionProblem(**sizes))


def absorbed_scale() -> Step:
    """Leave the scale of scores to the exponent, so that it is no operation between the two products."""
    return Step("absorbed-scale", "the scale of scores moves into the exponent", _absorb_scales)


def linalg() -> Step:
    """Return the last step."""
    return Step("linalg", "upstream dialects only", _to_linalg)


def stored_value(module: "ir.Module") -> "ir.OpView":
    """Return the operation whose result the payload stores in its output."""
    from mlir import ir

    from harness.ir.walk import functions_of
    from harness.variants.attention_schedule import returned

    stored = ir.OpResult(returned(functions_of(module)[0])[0]).owner
    return ir.OpResult(stored.operands[0]).owner.opview


def _absorb_scales(module: "ir.Module") -> None:
    from harness.variants.attention_schedule import absorb_scales

    absorb_scales(module)


def _to_linalg(module: "ir.Module") -> None:
    from harness.variants.attention_schedule import to_linalg

    to_linalg(module)
