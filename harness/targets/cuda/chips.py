"""NVIDIA's chips as data, and which device runs code for which chip, by their compute capabilities.

Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".  Counts: NVIDIA's
architecture whitepapers and data sheets, of the largest common device of each chip: A100, A10, L40, H100 SXM,
B200 and RTX 5090.
"""

import re
from dataclasses import dataclass

KIB = 1024
SYSTEM_BYTES = KIB
"""Shared memory of each workgroup that the system keeps for itself."""


@dataclass(frozen=True)
class Chip:
    """A chip and the limits of its multiprocessors; of later ones those of what they are like here."""

    summary: str
    multiprocessors: int
    warps: int
    """That a multiprocessor holds."""
    workgroups: int
    shared_bytes: int
    ptx: str = "80"
    """The oldest version of PTX that kernels are written in for it."""

    @property
    def largest_workgroup_bytes(self) -> int:
        """Shared memory that one workgroup may have."""
        return self.shared_bytes - SYSTEM_BYTES


CHIPS = {
    "sm_80": Chip("Ampere: A100", 108, warps=64, workgroups=32, shared_bytes=164 * KIB),
    "sm_86": Chip("Ampere: A10, A40, RTX 30", 72, warps=48, workgroups=16, shared_bytes=100 * KIB),
    "sm_89": Chip("Ada: L4, L40, RTX 40", 142, warps=48, workgroups=24, shared_bytes=100 * KIB),
    "sm_90": Chip(
        "Hopper: H100, H200, with the instructions that later chips have, too",
        132,
        warps=64,
        workgroups=32,
        shared_bytes=228 * KIB,
    ),
    "sm_90a": Chip(
        "Hopper alone: here the same instructions, which later chips then do not run",
        132,
        warps=64,
        workgroups=32,
        shared_bytes=228 * KIB,
    ),
    "sm_100": Chip("Blackwell: B200", 148, warps=64, workgroups=32, shared_bytes=228 * KIB, ptx="86"),
    "sm_120": Chip("Blackwell: RTX 50", 170, warps=48, workgroups=24, shared_bytes=100 * KIB, ptx="87"),
}


def chip_named(name: str) -> Chip:
    """Return a chip by its name, with or without the suffix for instructions of its own."""
    return CHIPS.get(name) or CHIPS[name.rstrip("af")]


def runs_on(chip: str, device_chip: str) -> bool:
    """Return whether PTX for a chip runs on a device: a later one will do, unless the chip has a suffix."""
    wanted, suffix = capability(chip)
    have = capability(device_chip)[0]
    return have == wanted if suffix else have >= wanted


def machine_code_runs_on(chip: str, device_chip: str) -> bool:
    """Return whether machine code runs on a device: on chips of one generation, from its own on."""
    return runs_on(chip, device_chip) and capability(chip)[0] // 10 == capability(device_chip)[0] // 10


def capability(chip: str) -> tuple[int, str]:
    """Return (90, `a`) of `sm_90a`."""
    match = re.fullmatch(r"sm_(\d+)([af]?)", chip)
    return (int(match[1]), match[2]) if match else (0, "")
