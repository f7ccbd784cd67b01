"""What Triton needs to know of the chips of each target, and what it gives; Triton is not imported."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.artifact.stage_names import ASSEMBLY
from harness.targets.base import Stage
from harness.targets.cuda.chips import capability
from harness.targets.cuda.multiprocessor import WARP_LANES
from harness.targets.gpu.launch import GpuKernel
from harness.targets.rocm.chips import CHIPS as AMD_CHIPS
from harness.targets.rocm.chips import Feature
from harness.variants.baselines.triton import tiles
from harness.variants.baselines.triton.code import TritonCode
from harness.variants.baselines.triton.tiles import Tiles

if TYPE_CHECKING:
    from harness.targets.gpu.kernel_build import DeviceCode

BackEndTarget = tuple[str, int | str, int]
"""What a back end compiles for: its own name of the vendor, the architecture, and the lanes of a warp."""


@dataclass(frozen=True)
class Emission:
    """How a chip's code comes about where Triton compiles it here, ahead of time."""

    target: Callable[[str], BackEndTarget]
    """Of a chip."""
    assembly: Stage
    assembly_name: str
    """Triton's own."""
    binary_name: str
    """Triton's own, of the file that a driver loads."""
    device_code: "Callable[[TritonCode, Sequence[GpuKernel]], DeviceCode]"


@dataclass(frozen=True)
class TritonVendor:
    """A vendor for whose chips Triton compiles."""

    back_end: str
    """Triton's folder of it."""
    tiles: Callable[[str], Tiles]
    """The best known of a chip."""
    families: tuple[Tiles, ...]
    """The best known of all its chips, of which a device chooses."""
    rows_of_warp: Callable[[str], int]
    """Of a tile of queries, on a chip: with fewer, warps store the same values twice."""
    emission: Emission | None
    """None: Triton compiles on the device, and launches by PyTorch's queue."""
    install: str = "attention-harness[triton]"
    precision: str = "ieee"
    """How products of f32 are made; of no effect for the other types."""


def _nvidia_code(code: TritonCode, kernels: Sequence[GpuKernel]) -> "DeviceCode":
    """Return PTX and machine code, with registers and spills, which only the assembler that made it knows."""
    from triton.backends.nvidia.compiler import get_ptxas

    from harness.targets.cuda import ptxas
    from harness.targets.cuda.device_code import device_code
    from harness.targets.cuda.nvdisasm import disassembled

    assembly = code.texts[ASSEMBLY]
    assembler = get_ptxas(capability(code.chip)[0]).path  # it knows the PTX that Triton writes
    again = ptxas.machine_code(str(assembler), assembly.encode(), code.chip)
    known = again.kernels if again is not None else []
    assembled = ptxas.Assembled(assembly.encode(), code.binary, known, disassembled(code.binary))
    return device_code(assembly, assembled, kernels, code.chip)


def _amd_code(code: TritonCode, kernels: Sequence[GpuKernel]) -> "DeviceCode":
    from harness.targets.rocm.device_code import device_code

    return device_code(code.texts[ASSEMBLY], code.binary, kernels, code.chip)


def _few_rows(chip: str) -> int:
    return 16


def _rows_of_wave(chip: str) -> int:
    """Return the rows that Triton's choice of a matrix instruction has."""
    return 32 if Feature.MFMA in AMD_CHIPS[chip].features else 16


NVIDIA = Emission(
    target=lambda chip: ("cuda", capability(chip)[0], WARP_LANES),
    assembly=Stage(ASSEMBLY, "assembly: PTX for NVIDIA's GPUs", suffix="ptx"),
    assembly_name="ptx",
    binary_name="cubin",
    device_code=_nvidia_code,
)
AMD = Emission(
    target=lambda chip: ("hip", chip, AMD_CHIPS[chip].wave_size),
    assembly=Stage(ASSEMBLY, "assembly for AMD's GPUs", suffix="rocmasm"),
    assembly_name="amdgcn",
    binary_name="hsaco",
    device_code=_amd_code,
)

VENDORS = {
    "cuda": TritonVendor("nvidia", tiles.of_nvidia, tiles.OF_NVIDIA, _few_rows, NVIDIA, precision="tf32x3"),
    "rocm": TritonVendor("amd", tiles.of_amd, tiles.OF_AMD, _rows_of_wave, AMD),
    "xegpu": TritonVendor(
        "intel", tiles.of_intel, (), _few_rows, None, install="PyTorch for XPU, with triton-xpu"
    ),
}
"""By the name of the target."""


def why_missing(vendor: TritonVendor) -> str | None:
    """Return None, or what to install where Triton or its back end for a vendor is missing."""
    installed = importlib.util.find_spec("triton")
    if installed is None or installed.origin is None:
        return f"install {vendor.install}"
    if not Path(installed.origin).with_name("backends").joinpath(vendor.back_end).is_dir():
        return f"this Triton has no back end for {vendor.back_end}: install {vendor.install}"
    return None
