"""The target `cuda`: NVIDIA GPUs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from harness.problem.case import Case
from harness.system.toolchains.nvidia import INSTALL, version
from harness.targets.base import Capability, TargetOptions
from harness.targets.cuda import device as device_executor
from harness.targets.cuda.chips import CHIPS, runs_on
from harness.targets.executors import is_installed
from harness.targets.gpu.target import GpuTarget

if TYPE_CHECKING:
    from pathlib import Path

    from harness.artifact.artifact import Artifact
    from harness.codegen.bounds.listing import LoopListing
    from harness.targets.gpu.vendor import Vendor

METRICS_BY_TOOL = {"ptxas": "registers, spills, occupancy", "nvdisasm": "machine instructions"}
"""What is known of machine code by each of NVIDIA's programs."""


class CudaTarget(GpuTarget):
    """NVIDIA GPUs from Ampere on."""

    name = "cuda"
    summary = "NVIDIA GPUs through layouts and PTX, or by IREE; on a device or on the emulator"
    driver = "NVIDIA's driver (libcuda.so.1)"
    default_chip = "sm_80"
    descriptions: ClassVar[dict[str, str]] = {name: chip.summary for name, chip in CHIPS.items()}

    def vendor(self, chip: str | None) -> "Vendor":
        """Return what the pipeline has to know of a chip."""
        from harness.targets.cuda.vendor import nvidia_vendor

        return nvidia_vendor(self.chip(chip))

    def what_devices_lack(self) -> str:
        """Return that NVIDIA's bindings are missing, where they are; IREE's code runs without."""
        if all(map(is_installed, device_executor.PACKAGES)):
            return ""
        return f"; for this harness's own kernels install {device_executor.INSTALL}"

    def capabilities(self) -> list[Capability]:
        """Return what can be built, emulated and run here, and what is known of machine code."""
        return [*super().capabilities(), self._metrics()]

    def tool_versions(self) -> dict[str, str]:
        """Return the versions of the tools that metrics come from, of those that are installed."""
        versions = {name: version(name) for name in METRICS_BY_TOOL}
        return {name: stated for name, stated in versions.items() if stated is not None}

    def _metrics(self) -> Capability:
        versions = self.tool_versions()
        parts = [
            f"{metrics} by {name} {versions[name]}" if name in versions else f"no {name} for {metrics}"
            for name, metrics in METRICS_BY_TOOL.items()
        ]
        is_complete = len(versions) == len(METRICS_BY_TOOL)
        hint = "" if is_complete else f": install {INSTALL}"
        return Capability(action="metrics", available=is_complete, detail="; ".join(parts) + hint)

    def bandwidths(self, chip: str | None, options: TargetOptions, number: int) -> Mapping[str, float]:
        """Return what the device moves in a copy of its own memory, in bytes/s read and written."""
        if self.find_device(chip) is None or not all(map(is_installed, device_executor.PACKAGES)):
            return {}
        from harness.targets.cuda.device.bandwidth import copy_bandwidth

        return {"memory": copy_bandwidth(self.chip(chip))}

    def why_no_counters(self, chip: str | None) -> str | None:
        """Return what to install where Nsight Compute is missing."""
        from harness.targets.cuda.nsight import why_missing

        return self.why_no_device(chip) or why_missing()

    def counters(self, case: Case, folder: "Path", timeout_s: float) -> Mapping[str, float]:
        """Return what Nsight Compute counts."""
        from harness.targets.cuda.nsight import counters

        return counters(case, folder, timeout_s)

    def bounds(self, artifact: "Artifact", folder: "Path") -> "LoopListing":
        """Return the main loop of machine code, with what bounds it in a model; see `Target.bounds`."""
        from harness.targets.cuda.kernel_bounds import loop_listing

        return loop_listing(artifact, folder)

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """PTX runs on its chip and on later ones, with a chip's own instructions on that chip only."""
        return runs_on(chip, device_chip)
