"""AMD's GPUs as the pipeline for GPUs knows them; what emits IR is imported when it is asked for."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from harness.artifact.artifact import Loader
from harness.codegen.layouts.instructions import amd
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, named
from harness.codegen.layouts.shared_memory_model import (
    WIDEST_ACCESS_BYTES,
    Banks,
    LaneGroups,
    SharedMemoryModel,
    consecutive_phases,
)
from harness.emulator.devices import device as emulated_device
from harness.targets.gpu.vendor import CodeGeneration, Multiprocessors, Staging, Vendor
from harness.targets.rocm.chips import CHIPS, Chip, Feature, resident_workgroups

WORD_BYTES = 4
QUAD, HALF_WAVE = 4, 32
"""Lanes."""

MATRIX_INSTRUCTIONS: Mapping[Feature, tuple[MatrixInstruction, ...]] = {
    feature: tuple(named(amd.CHAINED_INSTRUCTIONS, f"{name}.chained") for name in names)
    for feature, names in {
        Feature.MFMA_DEEP: ("mfma.f32.32x32x16.f16", "mfma.f32.32x32x16.bf16"),
        Feature.MFMA: ("mfma.f32.32x32x8.f16", "mfma.f32.32x32x8.bf16", "mfma.f32.16x16x4.f32"),
        Feature.WMMA: ("wmma.gfx12.f32.16x16x16.f16", "wmma.gfx12.f32.16x16x16.bf16"),
        Feature.WMMA_REPLICATED: ("wmma.gfx11.f32.16x16x16.f16", "wmma.gfx11.f32.16x16x16.bf16"),
    }.items()
}
"""What code is generated for where a chip has a feature; of two for one type the first is taken."""

MOST_WAVES = 4
"""Waves of a workgroup."""
KEY_TILE = 64
"""Keys of a tile, where rows are not long."""
MOST_REGISTERS = 256
"""Of a lane: with more, a SIMD of CDNA has room for one wave, and nothing hides what that waits for."""
WANTED_WORKGROUPS = 2
"""On a compute unit: one works while the other waits for its tiles, or at a barrier."""
SHIFTS_FOR_FLUSHING = MappingProxyType({"f16": 11})
"""Powers of two for probabilities where instructions flush subnormal numbers: the least normal number of f16
is 2¹¹ times what others round to 0.  bf16 has the exponents of f32, in which probabilities are computed."""
LONG_ROW_BYTES = 512
"""Of K and V together: head_dim 128 in 16 bits, of which 64 keys take half of what LDS has."""


def _nothing() -> None:
    """Emit nothing: copies pass through registers, and a barrier waits for them."""


COPIES_THROUGH_REGISTERS = Staging(
    slots=1,
    commit=_nothing,
    wait=_nothing,
    padding_bytes=8,
    column_padding_bytes=8,
    is_through_registers=True,
)


DEVICE_LOADER = Loader(executor="device", function="harness.targets.rocm.device.driver:load")
"""It needs HIP's runtime library, which every machine has that has such a device ready, and no package."""


def matrix_instructions(chip: Chip) -> dict[str, MatrixInstruction]:
    """Return the instruction for each dtype of operands that a chip multiplies."""
    chosen: dict[str, MatrixInstruction] = {}
    for feature, instructions in MATRIX_INSTRUCTIONS.items():
        if feature in chip.features:
            for instruction in instructions:
                chosen.setdefault(instruction.operand, instruction)
    return chosen


def shared_memory(chip: Chip) -> SharedMemoryModel:
    """Return the banks of a chip's LDS, which serves as many lanes at a time as its banks have words for."""
    reads, writes = (_banks(chip, count) for count in (chip.lds_banks, chip.lds_write_banks))
    if chip.wide_read_quads:
        *narrow, _ = reads.phases
        reads = replace(reads, phases=(*narrow, (WIDEST_ACCESS_BYTES, _lanes_of_quads(chip))))
    return SharedMemoryModel(reads, writes)


def _banks(chip: Chip, count: int) -> Banks:
    return Banks(count, WORD_BYTES, consecutive_phases(chip.wave_size, pass_bytes=count * WORD_BYTES))


def _lanes_of_quads(chip: Chip) -> LaneGroups:
    """Return the lanes of each phase of the widest reads, of which fours that are apart go together."""
    return tuple(
        tuple(half + QUAD * quad + lane for quad in quads for lane in range(QUAD))
        for half in range(0, chip.wave_size, HALF_WAVE)
        for quads in chip.wide_read_quads
    )


def _code_generation(chip: str) -> CodeGeneration:
    from harness.targets.rocm.lowering import EMISSION, lowering

    return CodeGeneration(rules=(), lowering=lowering(chip), emission=EMISSION)


def amd_vendor(name: str) -> Vendor:
    """Return the description of one of AMD's chips."""
    chip = CHIPS[name]
    return Vendor(
        chip=name,
        matrix_instructions=matrix_instructions(chip),
        most_warps=MOST_WAVES,
        key_tile=KEY_TILE,
        multiprocessors=Multiprocessors(
            count=chip.compute_units,
            registers_of_lane=min(MOST_REGISTERS, chip.registers_of_lane),
            resident=partial(resident_workgroups, chip=chip),
            wanted_workgroups=WANTED_WORKGROUPS,
        ),
        workgroup_shared_bytes=chip.lds_bytes,
        long_row_bytes=LONG_ROW_BYTES,
        probability_shifts=SHIFTS_FOR_FLUSHING if Feature.FLUSHED_SUBNORMALS in chip.features else {},
        staging=COPIES_THROUGH_REGISTERS,
        shared_memory=shared_memory(chip),
        code_generation=partial(_code_generation, name),
        device_loader=DEVICE_LOADER,
        emulated_device=emulated_device(name),
    )
