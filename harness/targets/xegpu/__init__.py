"""The target `xegpu`: Intel GPUs."""

from typing import TYPE_CHECKING, ClassVar

from harness.machine.gpus import GpuDevice
from harness.targets.base import Capability
from harness.targets.gpu.target import GpuTarget
from harness.targets.xegpu.chips import CHIPS

if TYPE_CHECKING:
    from harness.targets.gpu.vendor import Vendor

NO_DEVICE = "no device: nothing here runs code on Intel's GPUs yet"


class XegpuTarget(GpuTarget):
    """Intel GPUs that have matrix engines for 16 lanes."""

    name = "xegpu"
    summary = "Intel GPUs through layouts, XeGPU and SPIR-V; on the emulator"
    driver = "Level Zero"
    default_chip = "bmg"
    descriptions: ClassVar[dict[str, str]] = {name: chip.summary for name, chip in CHIPS.items()}
    builders: ClassVar[tuple[str, ...]] = ("this harness",)

    def vendor(self, chip: str | None) -> "Vendor":
        """Return what the pipeline has to know of a chip."""
        from harness.targets.xegpu.vendor import intel_vendor

        return intel_vendor(self.chip(chip))

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """Code is SPIR-V, which a driver compiles, but its tiles and messages are a chip's."""
        return chip == device_chip

    def chip(self, chip: str | None) -> str:
        """Return the chip that code is for when a target's name leaves it open."""
        return chip or self.default_chip

    def find_device(self, chip: str | None) -> GpuDevice | None:
        """Return None: no executor runs code on such a device yet."""
        return None

    def why_no_device(self, chip: str | None) -> str | None:
        """Return why no device runs code for a chip."""
        return NO_DEVICE

    def _build(self) -> Capability:
        chips = ", ".join(self.descriptions)
        return Capability(action="build", available=True, detail=f"by this harness: chips {chips}")

    def _run(self) -> Capability:
        return Capability(action="run", available=False, detail=NO_DEVICE)
