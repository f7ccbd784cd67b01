"""The target `xegpu`: Intel GPUs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import model_validator

from harness.problem.case import Case, ParameterValue
from harness.targets.base import Capability, Stage, TileSizes
from harness.targets.gpu.strategy import GpuOptions
from harness.targets.gpu.target import GpuTarget
from harness.targets.xegpu.chips import CHIPS
from harness.targets.xegpu.processor import INSTALL

if TYPE_CHECKING:
    from pathlib import Path

    from mlir import ir

    from harness.artifact.artifact import Artifact
    from harness.targets.gpu.vendor import Vendor

Route = Literal["lane", "workgroup"]
Executor = Literal["device", "emulator", "opencl"]


class XegpuOptions(GpuOptions):
    """Options of Intel's GPUs."""

    route: Route = "lane"
    """How kernels reach lanes: `lane`, by this harness's layouts; `workgroup`, by MLIR's passes for XeGPU's
    operations of a workgroup, for which of the other options only `prefetches` and `executor` are."""
    executor: Executor | None = None
    """What runs the code: a `device`, the `emulator`, or `opencl`, Intel's runtime for processors; left open,
    the first of them that can."""

    @model_validator(mode="after")
    def _are_of_one_route(self) -> Self:
        of_lane_route = [name for name in GpuOptions.model_fields if name != "prefetches"]
        of_lanes = [name for name in of_lane_route if getattr(self, name) is not None]
        if self.route == "workgroup" and of_lanes:
            raise ValueError(f"{', '.join(of_lanes)}: expected none of these with route=workgroup")
        return self


class XegpuTarget(GpuTarget):
    """Intel GPUs that have matrix engines for 16 lanes."""

    name = "xegpu"
    options = XegpuOptions
    summary = "Intel GPUs through layouts, XeGPU and SPIR-V; on a device or on the emulator"
    driver = "OpenCL (libOpenCL.so.1)"
    default_chip = "bmg"
    descriptions: ClassVar[dict[str, str]] = {name: chip.summary for name, chip in CHIPS.items()}
    is_of_iree = False

    def vendor(self, chip: str | None) -> "Vendor":
        """Return what the pipeline has to know of a chip."""
        from harness.targets.xegpu.vendor import intel_vendor

        return intel_vendor(self.chip(chip))

    @property
    def other_routes(self) -> dict[str, tuple[Stage, ...]]:  # type: ignore[override]
        """The stages of MLIR's route, behind those that a variant has for it."""
        from harness.targets.gpu.pipeline import stages
        from harness.targets.xegpu.workgroup_route.stages import route_stages
        from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

        return {"route=workgroup": stages(self.vendor(None), route_stages(RouteTiles()))}

    def tiles_keys(self, case: Case) -> bool:
        """Return whether the case goes MLIR's route, which tiles keys behind the stage `bufferized`."""
        return case.target_options.get("route") == "workgroup"

    def sizes_for(self, case: Case) -> TileSizes:
        """Return the tiles of the case's route."""
        if not self.tiles_keys(case):
            return super().sizes_for(case)
        from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

        return RouteTiles.of(case).sizes()

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what options leave open; on MLIR's route that is whether tiles are prefetched."""
        if not self.tiles_keys(case):
            return super().chosen(case)
        return {} if "prefetches" in case.target_options else {"prefetches": "next-tile"}

    def route(self, vendor: "Vendor", case: Case) -> Sequence[Stage]:
        """Return the stages of the case's route."""
        if not self.tiles_keys(case):
            return super().route(vendor, case)
        from harness.targets.xegpu.workgroup_route.stages import route_stages
        from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

        prefetches = case.target_options.get("prefetches") != "none"
        return route_stages(RouteTiles.of(case), prefetches=prefetches)

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: "Path", *, flops_executed: int
    ) -> "Artifact":
        """Compile kernels; of MLIR's route it is known here which tiles of keys they go over."""
        if self.tiles_keys(case):
            from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

            flops_executed = RouteTiles.of(case).executed_flops(case.problem)
        return super().compile(module, case, key, folder, flops_executed=flops_executed)

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """Code is SPIR-V, which a driver compiles, but its tiles and messages are a chip's."""
        return chip == device_chip

    def capabilities(self) -> list[Capability]:
        """Return what can be built, emulated and run here, and whether the processor can stand in."""
        return [*super().capabilities(), self._opencl()]

    def _opencl(self) -> Capability:
        from harness.targets.xegpu.processor.runtime import installed_version

        version = installed_version()
        detail = (
            f"SPIR-V on this processor, by Intel's OpenCL runtime {version}"
            if version
            else f"install {INSTALL}"
        )
        return Capability(action="opencl", available=version is not None, detail=detail)
