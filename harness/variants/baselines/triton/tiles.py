"""How the Triton baseline divides its work: the best tiles that are known for a chip and the width of rows.

NVIDIA's are the best of those with 64 or 128 queries, 32 to 128 keys, 4 or 8 warps and 2 to 4 stages that
this harness's model of machine code has seen (`harness.codegen.bounds`): f16, 4096 queries and keys, 32
heads, no mask.  AMD's and Intel's are of the sizes that the vendors' own benchmarks of attention in Triton
begin with.  A device chooses among them by time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.problem.attention_problem import AttentionProblem
from harness.targets.cuda.chips import capability
from harness.targets.rocm.chips import CHIPS as AMD_CHIPS
from harness.targets.rocm.chips import Feature


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
CDNA: Tiles = {
    256: TritonTiles(tile_q=128, tile_kv=64, warps=4, pipeline=2),
    512: TritonTiles(tile_q=128, tile_kv=32, warps=8, pipeline=1),
}
RDNA: Tiles = {
    128: TritonTiles(tile_q=64, tile_kv=32, warps=4, pipeline=1),
    512: TritonTiles(tile_q=64, tile_kv=16, warps=4, pipeline=1),
}
XE: Tiles = {
    128: TritonTiles(tile_q=128, tile_kv=64, warps=8, pipeline=3),
    512: TritonTiles(tile_q=128, tile_kv=64, warps=16, pipeline=3),
}

OF_SINGLE_PRECISION = (
    SINGLE_PRECISION,
    TritonTiles(tile_q=64, tile_kv=32, warps=4, pipeline=3),
    TritonTiles(tile_q=128, tile_kv=32, warps=8, pipeline=2),
)

OF_NVIDIA = (AMPERE, HOPPER, OTHERS)
OF_AMD = (CDNA, RDNA)
"""Tables of which a device of the vendor's may prefer tiles."""


def of_nvidia(chip: str) -> Tiles:
    """Return the best known tiles of one of NVIDIA's chips."""
    return BEST_KNOWN.get(capability(chip)[0] // 10, OTHERS)


def of_amd(chip: str) -> Tiles:
    """Return the tiles of one of AMD's chips: waves of 32 lanes have fewer registers for accumulators."""
    return CDNA if Feature.MFMA in AMD_CHIPS[chip].features else RDNA


def of_intel(chip: str) -> Tiles:
    """Return the tiles of one of Intel's chips."""
    return XE


def candidates(problem: AttentionProblem, families: Iterable[Tiles]) -> Iterator[TritonTiles]:
    """Yield the tiles that a device chooses from: the best that are known of any of these chips and width."""
    if problem.dtype == "f32":
        yield from OF_SINGLE_PRECISION
        return
    yield from dict.fromkeys(tiles for chip in families for tiles in chip.values())
    yield LONGEST_ROWS


def default_tiles(problem: AttentionProblem, best_known: Tiles) -> TritonTiles:
    """Return the best known tiles of a chip for a problem's type and widths."""
    if problem.dtype == "f32":
        return SINGLE_PRECISION
    columns = problem.head_dim + problem.head_dim_v
    return next((tiles for most, tiles in best_known.items() if columns <= most), LONGEST_ROWS)
