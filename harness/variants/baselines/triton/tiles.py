"""How the Triton baseline divides its work: the best tiles that are known for a chip and the width of rows.

They are the best of those with 64 or 128 queries, 32 to 128 keys, 4 or 8 warps and 2 to 4 stages that this
harness's model of machine code has seen (`harness.codegen.bounds`): f16, 4096 queries and keys, 32 heads, no
mask.
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

Tiles = dict[int, TritonTiles]
"""By the most columns of K and V together."""

AMPERE: Tiles = {
    128: TritonTiles(tile_q=128, tile_kv=64, warps=4, pipeline=3),
    256: TritonTiles(tile_q=128, tile_kv=32, warps=4, pipeline=4),
}
HOPPER: Tiles = {
    128: TritonTiles(tile_q=64, tile_kv=64, warps=4, pipeline=3),
    256: TritonTiles(tile_q=128, tile_kv=128, warps=8, pipeline=3),
}
BEST_KNOWN = {8: AMPERE, 9: HOPPER, 12: AMPERE}
"""By the generation of chips: those of 8 and 12 have the same matrix instructions, of a warp."""
OTHERS: Tiles = {128: TritonTiles(tile_q=128, tile_kv=64, warps=4, pipeline=3)}
"""Of chips whose best tiles are not known."""


def default_tiles(problem: AttentionProblem, chip: str) -> TritonTiles:
    """Return the best known tiles for a problem's type and widths on a chip."""
    if problem.dtype == "f32":
        return SINGLE_PRECISION
    by_columns = BEST_KNOWN.get(capability(chip)[0] // 10, OTHERS)
    columns = problem.head_dim + problem.head_dim_v
    return next((tiles for most, tiles in by_columns.items() if columns <= most), LONGEST_ROWS)
