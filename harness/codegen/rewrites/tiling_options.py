"""How to tile, and what came of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from mlir import ir

from harness.codegen.rewrites.fusion import FusionLog


class Ragged(StrEnum):
    """What becomes of the last tile where the tile size does not divide a dimension.

    A dimension whose length is known only at run time is always `PARTIAL`.
    """

    PARTIAL = "partial"
    """It is smaller: tiles have dynamic sizes."""
    SHIFTED = "shifted"
    """It is moved back to end with the dimension, so that all tiles have one static size.  What it shares
    with the tile before is computed twice in a parallel loop, and masked out in a reduction loop."""
    PEELED = "peeled"
    """Reduction loops only: the loop covers whole tiles, and the rest follows after it with its own static
    size.  Parallel loops are `PARTIAL`."""


@dataclass(frozen=True)
class TileOptions:
    """How to tile and what to fuse."""

    grid: int = 0
    """How many of the outermost loops, all parallel, form one `scf.forall`."""
    drop: frozenset[int] = frozenset()
    """Loops whose tiles of one element leave no dimension in the tile."""
    ragged: Ragged = Ragged.PARTIAL
    recompute: bool = False
    """Fuse also producers that are needed whole, which could be computed once outside."""
    init_outside: bool = True
    """The init rule.  Off, the initial value is made in every iteration, as the slides *Linalg Fusion
    Enhancement* first print it: wrong, and kept to show."""


@dataclass
class TiledNest:
    """The outcome."""

    loops: list[ir.OpView] = field(default_factory=list)
    """Outermost first."""
    roots: list[ir.OpView] = field(default_factory=list)
    """The root on tiles; two where a rest was peeled."""
    results: list[ir.Value] = field(default_factory=list)
    """What replaces the root's results."""
    log: FusionLog = field(default_factory=FusionLog)
