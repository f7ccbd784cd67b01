"""The variant `unfused`."""

from typing import TYPE_CHECKING

from harness.variants.generated import GeneratedVariant
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Unfused(GeneratedVariant):
    """The standard three kernels with the score matrix in memory between them."""

    name = "unfused"
    summary = "scores, softmax, values: three kernels, the score matrix materialised"

    def schedule(self, tiling: Tiling) -> "ir.Module":
        """Return the three kernels."""
        from harness.variants.unfused_form import unfused_module

        return unfused_module(tiling)

    def flops_executed(self, tiling: Tiling) -> int:
        """Return the operations, hidden pairs included."""
        from harness.variants.unfused_form import unfused_flops

        return unfused_flops(tiling)
