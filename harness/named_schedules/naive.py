"""What upstream tile-and-fuse makes of one head: every key tile recomputes whole rows of scores."""

from typing import TYPE_CHECKING

from harness.named_schedules.named import NamedSchedule
from harness.named_schedules.steps import absorbed_scale, linalg, stored_value
from harness.problem.attention_problem import AttentionProblem
from harness.variants.schedule import Step

if TYPE_CHECKING:
    from mlir import ir

SMALL = {"seq_q": 8, "seq_kv": 12, "head_dim": 4}


def naive(query: int = 4, key: int = 4) -> NamedSchedule:
    """Return the correct form, which starts the output outside of the reduction loop."""
    return NamedSchedule(
        name="naive",
        summary="recomputes whole rows of scores for each key tile; the output starts from 0 once",
        source="slides Linalg Fusion Enhancement, "
        f"tile [{query}, 0, {key}], interchange [2, 1, 0], with its init rule",
        payload=_single,
        sizes=SMALL,
        steps=_steps(query, key, init_outside=True),
    )


def naive_published(query: int = 4, key: int = 4) -> NamedSchedule:
    """Return the form as it is printed, which is wrong."""
    return NamedSchedule(
        name="naive-published",
        summary="recomputes score rows and starts again from 0 for each key tile, as printed in its source",
        source=f"slides Linalg Fusion Enhancement, tile [{query}, 0, {key}], interchange [2, 1, 0]",
        payload=_single,
        sizes=SMALL,
        steps=_steps(query, key, init_outside=False),
        why_wrong="the fill with 0 that the product with V starts from lands inside the loop over key tiles, "
        "so that only the last key tile is left in the output",
    )


def _single(**sizes: int) -> "ir.Module":
    from harness.payloads.attention import single_attention

    return single_attention(AttentionProblem(heads=1, **sizes))


def _steps(query: int, key: int, *, init_outside: bool) -> tuple[Step, ...]:
    return (
        absorbed_scale(),
        Step("plain-linalg", "maximum, exponential, sum, quotient as linalg", _decompose),
        Step(
            "tiled",
            "key tiles outside of query tiles",
            lambda module: _tile(module, query, key, init_outside=init_outside),
        ),
        linalg(),
    )


def _decompose(module: "ir.Module") -> None:
    from harness.dialect.decomposition import decompose_all
    from harness.rewrites.simplifications import erase_unused

    decompose_all(module)
    erase_unused(module)


def _tile(module: "ir.Module", query: int, key: int, *, init_outside: bool) -> None:
    from harness.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

    options = TileOptions(init_outside=init_outside)
    tile_and_fuse(stored_value(module), [query, 0, key], [2, 1, 0], options=options)
