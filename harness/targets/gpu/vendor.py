"""What a vendor says of one of its chips: all that the pipeline for GPUs does not know by itself.

Nothing in here needs MLIR: what emits IR is imported when it is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from harness.artifact.artifact import Loader
from harness.codegen.layouts.matrix_instruction import MatrixInstruction
from harness.codegen.layouts.shared_memory_model import SharedMemoryModel
from harness.emulator.devices import Device
from harness.system.errors import TileSizeError
from harness.targets.base import Stage
from harness.targets.gpu.launch import GpuKernel

if TYPE_CHECKING:
    from harness.codegen.layouts.distribution.distributor import VendorRule

Slots = Literal[1, 2]


@dataclass(frozen=True)
class Staging:
    """How operands of products reach shared memory: how copies are grouped, and how rows lie there."""

    slots: Slots
    """Tiles of one operand that are there at a time, where a loop reads it and nothing speaks against it."""
    commit: Callable[[], object]
    """Emits what makes one group of the copies that were started."""
    wait: Callable[[], object]
    """Emits what waits until all groups have arrived."""
    padding_bytes: int
    """Behind each row, so that what lanes access together lies in different banks."""
    column_padding_bytes: int
    """The same, for rows of 4-byte elements that lanes read below each other."""
    is_through_registers: bool = False
    """Whether copies pass through registers.  A loop then loads its next tiles before its products and stores
    them after; a tile that products add up along its rows lies transposed in shared memory, and the padding
    is what the bank model chooses."""


@dataclass(frozen=True)
class Multiprocessors:
    """What runs a chip's workgroups, as far as the choice of tiles depends on it."""

    count: int
    """How many there are."""
    registers_of_lane: int
    """Registers of 4 bytes that a lane can have."""
    resident: Callable[[int, int, int], int]
    """How many workgroups of so many threads, registers of a lane and bytes of shared memory one has room
    for."""
    wanted_workgroups: int = 1
    """How many a large tile has to leave room for, where a small one does."""


@dataclass(frozen=True)
class CodeGeneration:
    """How code for the chip is made of what the general stages give."""

    rules: "Sequence[VendorRule]"
    """Rules of distribution that are tried before the general ones."""
    lowering: Sequence[Stage]
    """Stages from what a lane does to LLVM IR for the chip, which the emulator takes, too."""
    emission: Sequence[Stage]
    """Stages from there to the device's code, which go on beside the emulator's."""


@dataclass(frozen=True)
class Vendor:
    """The description of a chip."""

    chip: str
    matrix_instructions: Mapping[str, MatrixInstruction]
    """One for each dtype of Q, K and V; they also say how many lanes a warp has."""
    most_warps: int
    """Warps of a workgroup, each with a band of rows, where there are rows enough."""
    key_tile: int
    """Keys of a tile that nothing else speaks against."""
    shared_memory: SharedMemoryModel | None
    staging: Staging | None
    """None: lanes read operands of products directly."""
    code_generation: Callable[[], CodeGeneration]
    device_loader: Loader
    """What runs the device's code on a device."""
    emulated_device: Device
    """What the emulator stands in for."""
    further_loaders: Sequence[Loader] = ()
    """What else runs the device's code, beside device and emulator."""
    multiprocessors: Multiprocessors | None = None
    """None: tiles are as small as the warps allow, and no more workgroups are made than tiles of queries."""
    workgroup_shared_bytes: int | None = None
    """What a workgroup may have of shared memory; None: as much as it needs."""
    long_row_bytes: int | None = None
    """Rows of K and of V that together are longer have half of `key_tile`; None where shared memory does not
    matter."""
    most_operand_registers: int | None = None
    """Registers of a lane that a product may take all of operand B in; where it takes more, all fragments of
    the product go along its depth together.  None: as many as there are."""
    spare_registers: int = 0
    """Registers of a lane that an estimate of a tile with one band of rows and Q is too high by at most."""
    probability_shifts: Mapping[str, int] = field(default_factory=dict)
    """By dtype, the power of two that probabilities are multiplied by before a product takes them: where
    matrix instructions take numbers for 0 that others would not."""
    sums_in_halves: bool = False
    """Whether the matrix instruction of f16 also adds up in f16."""
    prefetches_tiles: bool = False
    """Whether there is a rule for prefetches of a tile (`harness.targets.gpu.prefetches`)."""
    spares_masked_loops: bool = False
    """Whether nothing is spilled in the loop over whole tiles where registers are full and a mask makes a
    second loop, if rows are summed in every tile and products go by step."""

    def require_room(self, kernels: Sequence[GpuKernel]) -> None:
        """Raise `TileSizeError` where a workgroup needs more shared memory than it may have."""
        most = self.workgroup_shared_bytes
        for kernel in kernels:
            if most is not None and kernel.shared_bytes > most:
                raise TileSizeError(
                    f"kernel {kernel.name} needs {kernel.shared_bytes} bytes of shared memory; "
                    f"a workgroup may have {most} on {self.chip}"
                )
