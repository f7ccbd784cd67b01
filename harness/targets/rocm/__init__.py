"""The target `rocm`: AMD GPUs."""

from typing import ClassVar

from harness.targets.gpu.target import GpuTarget


class RocmTarget(GpuTarget):
    """AMD GPUs that have matrix instructions."""

    name = "rocm"
    summary = "AMD GPUs; built by IREE, runs on a device or on the emulator"
    driver = "ROCm's HIP (libamdhip64.so)"
    default_chip = "gfx942"
    descriptions: ClassVar[dict[str, str]] = {
        "gfx90a": "CDNA 2: MI210, MI250",
        "gfx942": "CDNA 3: MI300",
        "gfx950": "CDNA 4: MI350",
        "gfx1100": "RDNA 3: RX 7900",
        "gfx1201": "RDNA 4: RX 9070",
    }

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """Machine code runs on its own chip only."""
        return chip == device_chip
