"""How many workgroups of a kernel a multiprocessor holds, and how many of its warps they fill."""

from harness.targets.cuda.chips import KIB, SYSTEM_BYTES, chip_named

WARP_LANES = 32
REGISTERS = 64 * KIB
REGISTER_MULTIPLE = 256
"""Registers are given to warps in multiples of this."""
REGISTERS_OF_LANE = 255
SHARED_MULTIPLE = 128


def occupancy(threads: int, registers: int, shared_bytes: int, chip: str) -> float:
    """Return the share of a multiprocessor's warps that copies of a workgroup can fill."""
    resident = resident_workgroups(threads, registers, shared_bytes, chip)
    return resident * _warps(threads) / chip_named(chip).warps


def resident_workgroups(threads: int, registers: int, shared_bytes: int, chip: str) -> int:
    """Return how many copies of a workgroup a multiprocessor has room for."""
    return min(resident_limits(threads, registers, shared_bytes, chip).values())


def resident_limits(threads: int, registers: int, shared_bytes: int, chip: str) -> dict[str, int]:
    """Return how many copies of a workgroup each resource of a multiprocessor is enough for."""
    limits = chip_named(chip)
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
