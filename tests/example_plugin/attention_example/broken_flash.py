"""The harness's own flash, broken in one line: proof that the correctness matrix would notice."""

from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

from harness.system.errors import UnsupportedError
from harness.variants.flash import Flash
from harness.variants.generated import TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class FlashWithoutRescaling(Flash):
    """Forgets to rescale the running sum and output when the running maximum grows."""

    name = "flash-without-rescaling"
    summary = "flash with a bug, for tests"

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return flash's steps, the last one without the rescaling of what earlier key tiles added up to."""
        *steps, last = super().schedule(tiling, parameters)
        return [*steps, replace(last, rewrite=lambda module: _without_rescaling(last, module))]


class FlashWithBrokenStep(Flash):
    """Has a last step that fails."""

    name = "flash-with-broken-step"
    summary = "flash with a step that raises, for tests"

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return flash's steps, and one that raises."""
        return [*super().schedule(tiling, parameters), Step("broken", "raises", _raise)]


class FlashWithRefusingStep(Flash):
    """Has a last step that refuses the problem."""

    name = "flash-with-refusing-step"
    summary = "flash with a step that refuses, for tests"

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return flash's steps, and one that refuses."""
        return [*super().schedule(tiling, parameters), Step("refusing", "refuses", _refuse)]


def _raise(module: "ir.Module") -> None:
    raise ValueError("no such loop")


def _refuse(module: "ir.Module") -> None:
    raise UnsupportedError("no tile of 16 rows")


def _without_rescaling(step: Step, module: "ir.Module") -> None:
    from harness.codegen.dialect import decomposition
    from harness.codegen.rewrites import simplifications

    with (
        mock.patch.object(decomposition, "rescaled_rows", lambda tile, factor: tile),
        mock.patch.object(simplifications, "rescaled_rows", lambda tile, factor: tile),
    ):
        step.rewrite(module)
