"""The target `rocm`: AMD GPUs."""

from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from harness.system.toolchains import iree
from harness.targets.gpu.target import GpuTarget
from harness.targets.rocm.chips import CHIPS

if TYPE_CHECKING:
    from harness.targets.gpu.vendor import Vendor


class RocmTarget(GpuTarget):
    """AMD GPUs that have matrix instructions."""

    name = "rocm"
    summary = "AMD GPUs through layouts and ROCDL, or by IREE; on a device or on the emulator"
    driver = "ROCm's HIP (libamdhip64.so)"
    default_chip = "gfx942"
    descriptions: ClassVar[dict[str, str]] = {name: chip.summary for name, chip in CHIPS.items()}

    def vendor(self, chip: str | None) -> "Vendor":
        """Return what the pipeline has to know of a chip."""
        from harness.targets.rocm.vendor import amd_vendor

        return amd_vendor(self.chip(chip))

    def tool_versions(self) -> dict[str, str]:
        """Return the version of IREE, whose linker makes the code objects."""
        return {"iree-base-compiler": version("iree-base-compiler")} if iree.installed() else {}

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """Machine code runs on its own chip only."""
        return chip == device_chip
