"""The target `cuda`: NVIDIA GPUs."""

import re
from typing import ClassVar

from harness.targets.gpu.target import GpuTarget


class CudaTarget(GpuTarget):
    """NVIDIA GPUs from Ampere on."""

    name = "cuda"
    summary = "NVIDIA GPUs; built by IREE, runs on a device or on the emulator"
    driver = "NVIDIA's driver (libcuda.so.1)"
    default_chip = "sm_80"
    descriptions: ClassVar[dict[str, str]] = {
        "sm_80": "Ampere: A100",
        "sm_86": "Ampere: A10, A40, RTX 30",
        "sm_89": "Ada: L4, L40, RTX 40",
        "sm_90": "Hopper: H100, H200, with the instructions that later chips have, too",
        "sm_90a": "Hopper, with those of its own",
        "sm_100": "Blackwell: B200",
        "sm_120": "Blackwell: RTX 50",
    }

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """PTX runs on its chip and on later ones, with a chip's own instructions on that chip only."""
        wanted, suffix = _number(chip)
        have, _ = _number(device_chip)
        return have == wanted if suffix else have >= wanted


def _number(chip: str) -> tuple[int, str]:
    """Return (90, `a`) of `sm_90a`."""
    found = re.fullmatch(r"sm_(\d+)([af]?)", chip)
    return (int(found[1]), found[2]) if found else (0, "")
