"""The FlashAttention-style forms: the loop over key tiles carries maximum, total and output."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.named_schedules.named import NamedSchedule
from harness.named_schedules.steps import SMALL, absorbed_scale, linalg, multi_head
from harness.variants.schedule import Step

if TYPE_CHECKING:
    from mlir import ir

KEYS_OUTSIDE = (0, 1, 4, 3, 2)
QUERIES_OUTSIDE = (0, 1, 2, 3, 4)


def flash_kv_outer(batch: int = 1, query: int = 4, key: int = 4) -> NamedSchedule:
    """Return the form of the slides *Linalg Fusion Enhancement*, loops in the order of FlashAttention 1."""
    return NamedSchedule(
        name="flash-kv-outer",
        summary="keys outside, queries inside; after each key tile the output is exact for the keys so far",
        source="slides Linalg Fusion Enhancement, "
        f"tile [{batch}, 0, {query}, 0, {key}], interchange {list(KEYS_OUTSIDE)}",
        payload=multi_head,
        sizes=SMALL,
        steps=(absorbed_scale(), _tiled(batch, query, key, KEYS_OUTSIDE), linalg()),
    )


def flash_q_outer(batch: int = 1, query: int = 4, key: int = 4) -> NamedSchedule:
    """Return the same with the queries outside, which keeps the output of a tile in place."""
    return NamedSchedule(
        name="flash-q-outer",
        summary="queries outside, keys inside; after each key tile the output is exact for the keys so far",
        source="the rewriting of the slides Linalg Fusion Enhancement, in the loop order of FlashAttention 2",
        payload=multi_head,
        sizes=SMALL,
        steps=(absorbed_scale(), _tiled(batch, query, key, QUERIES_OUTSIDE), linalg()),
    )


def flash_final_division(batch: int = 1, query: int = 4, key: int = 4) -> NamedSchedule:
    """Return the form that leaves the output unnormalised until the last key tile."""
    division = Step("final-division", "divide once, after the product with V", _divide_once)
    return NamedSchedule(
        name="flash-final-division",
        summary="queries outside, keys inside; the output is divided once, after the last key tile",
        source="FlashAttention 2 (Dao 2023)",
        payload=multi_head,
        sizes=SMALL,
        steps=(absorbed_scale(), division, _tiled(batch, query, key, QUERIES_OUTSIDE), linalg()),
    )


def _tiled(batch: int, query: int, key: int, order: Sequence[int]) -> Step:
    sizes = [batch, 0, query, 0, key]
    return Step(
        "tiled", f"tile {sizes}, interchange {list(order)}", lambda module: _tile(module, sizes, order)
    )


def _tile(module: "ir.Module", sizes: Sequence[int], order: Sequence[int]) -> None:
    from harness.rewrites.tile_and_fuse import tile_and_fuse
    from harness.variants.attention_schedule import products

    tile_and_fuse(products(module)[-1], sizes, order)


def _divide_once(module: "ir.Module") -> None:
    from harness.variants.attention_schedule import divide_once

    divide_once(module)
