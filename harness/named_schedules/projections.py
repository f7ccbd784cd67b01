"""Attention with its projections: the split over heads that goes through them."""

from typing import TYPE_CHECKING

from harness.named_schedules.named import NamedSchedule
from harness.named_schedules.steps import absorbed_scale, linalg
from harness.problem.attention_problem import AttentionProblem
from harness.variants.schedule import Step

if TYPE_CHECKING:
    from mlir import ir

SMALL = {"batch": 2, "heads": 4, "seq": 6, "head_dim": 4, "model_width": 8}


def split_head(heads: int = 1) -> NamedSchedule:
    """Return Megatron's split: each iteration projects, with its columns of the weights, its own heads."""
    return NamedSchedule(
        name="split-head",
        summary="one loop over heads, with the projections' weight columns of those heads inside",
        source=f"slides Linalg Fusion Enhancement (Megatron-style), tile [0, {heads}, 0, 0, 0]",
        payload=_with_projections,
        sizes=SMALL,
        steps=_steps(heads, shared_keys=False),
    )


def multi_query(heads: int = 1) -> NamedSchedule:
    """Return the split where all heads share K and V, whose projections are made once, outside."""
    return NamedSchedule(
        name="multi-query",
        summary="one loop over heads; one head of K and V for all, projected outside",
        source=f"slides Linalg Fusion Enhancement, multi-query form, tile [0, {heads}, 0, 0, 0]",
        payload=_with_one_key_head,
        sizes=SMALL,
        steps=_steps(heads, shared_keys=True),
    )


def _with_projections(*, seq: int, **sizes: int) -> "ir.Module":
    from harness.payloads.attention import multi_head_attention_with_prologue_projections

    return multi_head_attention_with_prologue_projections(AttentionProblem(seq_q=seq, seq_kv=seq, **sizes))


def _with_one_key_head(**sizes: int) -> "ir.Module":
    return _with_projections(kv_heads=1, **sizes)


def _steps(heads: int, *, shared_keys: bool) -> tuple[Step, ...]:
    tiled = Step(
        "tiled",
        f"tile [0, {heads}, 0, 0, 0]" + (", the projections of K and V outside" if shared_keys else ""),
        lambda module: _tile(module, heads, shared_keys=shared_keys),
    )
    return (absorbed_scale(), tiled, linalg())


def _tile(module: "ir.Module", heads: int, *, shared_keys: bool) -> None:
    from harness.rewrites.tile_and_fuse import tile_and_fuse
    from harness.variants.attention_schedule import products

    _, key, value, _, root = products(module)
    tile_and_fuse(root, [0, heads, 0, 0, 0], stop=[key, value] if shared_keys else [])
