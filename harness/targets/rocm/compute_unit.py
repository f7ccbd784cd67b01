"""What a compute unit has room for: workgroups, by their waves, registers and LDS."""

from collections.abc import Sequence

from harness.errors import UnsupportedError
from harness.targets.gpu.launch import GpuKernel
from harness.targets.rocm.chips import CHIPS, Chip


def require_lds(kernels: Sequence[GpuKernel], chip: str) -> None:
    """Raise `UnsupportedError` where a workgroup needs more LDS than it may have."""
    most = CHIPS[chip].workgroup_lds_bytes
    for kernel in kernels:
        if kernel.shared_bytes > most:
            raise UnsupportedError(
                f"kernel {kernel.name} needs {kernel.shared_bytes} bytes of LDS; "
                f"a workgroup may have {most} on {chip}"
            )


def waves_of_simd(registers: int, chip: Chip) -> int:
    """Return how many waves of so many registers a SIMD has room for, whatever else they need."""
    given = _rounded_up(max(registers, 1), chip.register_multiple)
    return min(chip.waves, chip.registers // given)


def resident_workgroups(threads: int, registers: int, shared_bytes: int, chip: Chip) -> int:
    """Return how many copies of a workgroup a compute unit has room for."""
    waves = -(-threads // chip.wave_size)
    by_waves = waves_of_simd(registers, chip) * chip.simds // waves
    given = _rounded_up(shared_bytes, chip.lds_multiple)
    by_lds = chip.lds_bytes // given if given else chip.workgroups
    return min(chip.workgroups, by_waves, by_lds)


def occupancy(threads: int, registers: int, shared_bytes: int, chip: Chip) -> float:
    """Return the share of a compute unit's waves that copies of a workgroup can fill."""
    waves = -(-threads // chip.wave_size)
    resident = resident_workgroups(threads, registers, shared_bytes, chip)
    return resident * waves / (chip.waves * chip.simds)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
