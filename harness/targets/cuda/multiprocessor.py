"""What a multiprocessor of each chip has, how many there are, and how many warps of a kernel one holds.

Numbers: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import UnsupportedError
from harness.targets.gpu.launch import GpuKernel

KIB = 1024
WARP_LANES = 32
REGISTERS = 64 * KIB
REGISTER_MULTIPLE = 256
"""Registers are given to warps in multiples of this."""
REGISTERS_OF_LANE = 255
SHARED_MULTIPLE = 128
SYSTEM_BYTES = KIB
"""Shared memory of each workgroup that the system keeps for itself."""


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one multiprocessor."""

    warps: int
    workgroups: int
    shared_bytes: int

    @property
    def largest_workgroup_bytes(self) -> int:
        """Shared memory that one workgroup may have."""
        return self.shared_bytes - SYSTEM_BYTES


AMPERE_A100 = Multiprocessor(warps=64, workgroups=32, shared_bytes=164 * KIB)
AMPERE = Multiprocessor(warps=48, workgroups=16, shared_bytes=100 * KIB)
ADA = Multiprocessor(warps=48, workgroups=24, shared_bytes=100 * KIB)
HOPPER = Multiprocessor(warps=64, workgroups=32, shared_bytes=228 * KIB)

MULTIPROCESSORS = {
    "sm_80": AMPERE_A100,
    "sm_86": AMPERE,
    "sm_89": ADA,
    "sm_90": HOPPER,
    "sm_90a": HOPPER,
    "sm_100": HOPPER,
    "sm_120": ADA,
}
"""By chip; the later ones have the limits of those that they are named after here."""


COUNTS = {
    "sm_80": 108,
    "sm_86": 72,
    "sm_89": 142,
    "sm_90": 132,
    "sm_90a": 132,
    "sm_100": 148,
    "sm_120": 170,
}
"""Multiprocessors of the largest common device of each chip: A100, A10, L40, H100 SXM, B200 and RTX 5090, by
NVIDIA's architecture whitepapers and data sheets."""


def multiprocessor(chip: str) -> Multiprocessor:
    """Return the limits of a chip, with or without the suffix for instructions of its own."""
    return MULTIPROCESSORS.get(chip) or MULTIPROCESSORS[chip.rstrip("af")]


def multiprocessor_count(chip: str) -> int:
    """Return how many multiprocessors a device of a chip has."""
    return COUNTS.get(chip) or COUNTS[chip.rstrip("af")]


def require_shared_memory(kernels: Sequence[GpuKernel], chip: str) -> None:
    """Raise `UnsupportedError` where a workgroup needs more shared memory than it may have."""
    most = multiprocessor(chip).largest_workgroup_bytes
    for kernel in kernels:
        if kernel.shared_bytes > most:
            raise UnsupportedError(
                f"kernel {kernel.name} needs {kernel.shared_bytes} bytes of shared memory; "
                f"a workgroup may have {most} on {chip}"
            )


def occupancy(threads: int, registers: int, shared_bytes: int, chip: str) -> float:
    """Return the share of a multiprocessor's warps that copies of a workgroup can fill."""
    resident = resident_workgroups(threads, registers, shared_bytes, chip)
    return resident * _warps(threads) / multiprocessor(chip).warps


def resident_workgroups(threads: int, registers: int, shared_bytes: int, chip: str) -> int:
    """Return how many copies of a workgroup a multiprocessor has room for."""
    return min(resident_limits(threads, registers, shared_bytes, chip).values())


def resident_limits(threads: int, registers: int, shared_bytes: int, chip: str) -> dict[str, int]:
    """Return how many copies of a workgroup each resource of a multiprocessor is enough for."""
    limits = multiprocessor(chip)
    warps = _warps(threads)
    of_warp = _rounded_up(registers * WARP_LANES, REGISTER_MULTIPLE)
    of_workgroup = _rounded_up(shared_bytes, SHARED_MULTIPLE) + SYSTEM_BYTES
    return {
        "workgroups": limits.workgroups,
        "warps": limits.warps // warps,
        "registers": REGISTERS // of_warp // warps,
        "shared memory": limits.shared_bytes // of_workgroup,
    }


def _warps(threads: int) -> int:
    return -(-threads // WARP_LANES)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
