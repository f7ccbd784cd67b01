"""How the Triton baseline divides its work: the best tiles that are known for a chip and the width of rows.

They are the best of those with 64 or 128 queries, 32 to 128 keys, 4 or 8 warps and 2 to 4 stages in a model
of the machine code: f16, 4096 queries and keys, 32 heads, no mask.
"""

from dataclasses import dataclass

from harness.problem.attention_problem import AttentionProblem
from harness.targets.cuda.chips import capability


@dataclass(frozen=True)
class TritonTiles:
    """Sizes that the kernel is compiled with."""

    tile_q: int
    """Queries of a program."""
    tile_kv: int
    """Keys of one turn of its loop."""
    warps: int
    pipeline: int
    """Tiles of K and V under way at a time."""


SINGLE_PRECISION = TritonTiles(tile_q=64, tile_kv=32, warps=4, pipeline=2)
"""As many rows as the warps have matrix instructions for, else they store the same values twice."""

LONGEST_ROWS = TritonTiles(tile_q=128, tile_kv=64, warps=8, pipeline=2)
"""For rows that are longer than those below: with fewer warps accumulators do not fit into registers."""

WARP_INSTRUCTIONS = {
    128: TritonTiles(tile_q=128, tile_kv=64, warps=4, pipeline=3),
    256: TritonTiles(tile_q=128, tile_kv=32, warps=4, pipeline=3),
}
"""For chips with matrix instructions of a warp, by the most columns of K and V together."""

WARP_GROUP_INSTRUCTIONS = {
    128: TritonTiles(tile_q=128, tile_kv=64, warps=4, pipeline=3),
    256: TritonTiles(tile_q=128, tile_kv=64, warps=8, pipeline=3),
}
"""Likewise, for chips with matrix instructions of four warps."""

WITH_WARP_GROUPS = (9, 10)
"""Generations of such chips: Hopper, and Blackwell of data centres."""


def default_tiles(problem: AttentionProblem, chip: str) -> TritonTiles:
    """Return the best known tiles for a problem's type and widths on a chip."""
    if problem.dtype == "f32":
        return SINGLE_PRECISION
    generation = capability(chip)[0] // 10
    by_columns = WARP_GROUP_INSTRUCTIONS if generation in WITH_WARP_GROUPS else WARP_INSTRUCTIONS
    columns = problem.head_dim + problem.head_dim_v
    return next((tiles for most, tiles in by_columns.items() if columns <= most), LONGEST_ROWS)
