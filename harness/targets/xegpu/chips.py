"""Intel's chips as data.

Sources: Intel's data sheets of Arc B580 and of Data Center GPU Max 1550; the oneAPI GPU Optimization Guide,
"Xe GPU Architecture" and "Small Register Mode vs. Large Register Mode".
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """What of a chip decides how kernels are made for it."""

    summary: str
    cores: int
    """Xe-cores of the largest common device, for Max 1550 of one of its two stacks."""
    engines: int = 8
    """Vector engines of a core, each with a matrix engine."""
    threads: int = 4
    """Sub-groups that an engine holds when each has `registers`: half of what it holds with half of them."""
    registers: int = 256
    """Registers of a sub-group in the large register mode, which kernels here are for."""
    register_bytes: int = 64
    compiler_options: str = "-cl-intel-256-GRF-per-thread"
    """What Intel's compiler is told in OpenCL: the large register mode."""

    @property
    def registers_of_lane(self) -> int:
        """Registers of 4 bytes that each of a sub-group's 16 lanes has."""
        return self.registers * self.register_bytes // (4 * SUB_GROUP)


SUB_GROUP = 16
"""Lanes of a sub-group, as many as dpas takes on these chips."""

CHIPS = {
    "bmg": Chip(summary="Xe2, Battlemage: Arc B580", cores=20),
    "pvc": Chip(summary="Xe-HPC, Ponte Vecchio: Data Center GPU Max", cores=64),
}
"""The chips that code is generated for, by MLIR's name."""


def resident_workgroups(threads: int, registers: int, shared_bytes: int, chip: Chip) -> int:
    """Return how many copies of a workgroup a core has room for, by their sub-groups."""
    sub_groups = -(-threads // SUB_GROUP)
    in_half_mode = registers <= chip.registers_of_lane // 2
    return chip.engines * chip.threads * (2 if in_half_mode else 1) // sub_groups
