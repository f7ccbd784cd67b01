"""The variant `naive`."""

from typing import TYPE_CHECKING

from harness.variants.generated import GeneratedVariant
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Naive(GeneratedVariant):
    """Greedy tile-and-fuse: each key tile recomputes the whole row of scores for its statistics."""

    name = "naive"
    summary = "recomputing tile-and-fuse in its correct form; work grows with the number of key tiles"

    def schedule(self, tiling: Tiling) -> "ir.Module":
        """Return the one kernel of the form."""
        from harness.variants.naive_form import naive_module

        return naive_module(tiling)

    def flops_executed(self, tiling: Tiling) -> int:
        """Return the operations with all recomputation."""
        from harness.variants.naive_form import naive_flops

        return naive_flops(tiling)
