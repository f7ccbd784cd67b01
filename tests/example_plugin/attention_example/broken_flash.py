"""The harness's own flash, broken in one line: proof that the correctness matrix would notice."""

from typing import TYPE_CHECKING
from unittest import mock

from harness.variants.flash import Flash
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class FlashWithoutRescaling(Flash):
    """Forgets to rescale the running sum and output when the running maximum grows."""

    name = "flash-without-rescaling"
    summary = "flash with a bug, for tests"

    def schedule(self, tiling: Tiling) -> "ir.Module":
        """Return flash's kernel without the rescaling of what earlier key tiles added up to."""
        from harness.variants import flash_form

        with mock.patch.object(flash_form.steps, "rescaled_rows", lambda tile, factor: tile):
            return flash_form.flash_module(tiling)
