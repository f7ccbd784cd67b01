"""How the Triton baseline divides its work."""

from dataclasses import dataclass


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
