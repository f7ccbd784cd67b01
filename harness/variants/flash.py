"""The variant `flash`."""

from typing import TYPE_CHECKING

from harness.variants.generated import GeneratedVariant
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Flash(GeneratedVariant):
    """FlashAttention-style: the loop over key tiles carries the running maximum, sum and output."""

    name = "flash"
    summary = "one pass over the keys, online softmax, one division at the end (FlashAttention-2)"

    def schedule(self, tiling: Tiling) -> "ir.Module":
        """Return the one kernel of the form."""
        from harness.variants.flash_form import flash_module

        return flash_module(tiling)

    def flops_executed(self, tiling: Tiling) -> int:
        """Return the operations of the key tiles that are visited."""
        from harness.variants.flash_form import flash_flops

        return flash_flops(tiling)
