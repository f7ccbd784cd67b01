"""MFMA: who holds what, and the products.

Sources of the tables: AMD matrix instruction calculator, architectures CDNA2 and CDNA3,
`--detail-instruction`, "Matrix element to register mapping with no modifiers"; for gfx950, which it does not
know, AMD Instinct CDNA4 ISA, "Matrix Arithmetic Instructions" (K grows from lane group to lane group, eight
elements in each).
"""

import ml_dtypes
import numpy as np
import pytest
from amd_matrices import (
    BF16,
    F16,
    F32,
    Instruction,
    Operand,
    Owner,
    Place,
    check_accumulator,
    check_operand_a,
    check_operand_b,
    check_product,
    first_result,
)
from fragment_tables import lane_table
from model_calls import ModelLibrary

CALCULATOR = "AMD matrix instruction calculator"
CDNA4 = "AMD Instinct CDNA4 ISA"


def a_16(i: int, k: int, per_lane: int, parts: int) -> Place:
    """A[i][k] of 16 rows: lane 16·⌊k / per_lane⌋ + i."""
    return Place((16 * (k // per_lane) + i,), k % per_lane // parts, k % parts)


def a_32(i: int, k: int, per_lane: int, parts: int) -> Place:
    """A[i][k] of 32 rows: lane 32·⌊k / per_lane⌋ + i."""
    return Place((32 * (k // per_lane) + i,), k % per_lane // parts, k % parts)


def c_16(i: int, j: int) -> Place:
    """C or D[i][j], 16×16: GPR i % 4, lane 16·⌊i / 4⌋ + j."""
    return Place((16 * (i // 4) + j,), i % 4)


def c_32(i: int, j: int) -> Place:
    """C or D[i][j], 32×32: GPR 4·⌊i / 8⌋ + i % 4, lane (32·⌊i / 4⌋) % 64 + j."""
    return Place((32 * (i // 4) % 64 + j,), 4 * (i // 8) + i % 4)


def mfma(size: int, depth: int, dtype: np.dtype, source: str = CALCULATOR, chip: str = "") -> Instruction:
    """Return the instruction for C of size×size, of a chip where that has a model of its own."""
    name = {F16: "f16", BF16: "bf16", F32: "f32"}[dtype]
    parts = 1 if dtype == F32 else 2
    per_lane = depth * size // 64
    table = a_16 if size == 16 else a_32

    def a_owner(i: int, k: int) -> Place:
        return table(i, k, per_lane, parts)

    def b_owner(k: int, j: int) -> Place:
        # "B[k][j]" has the lines of "A[i][k]" with j for i.
        return table(j, k, per_lane, parts)

    c_owner: Owner = c_16 if size == 16 else c_32
    none = np.int32(0)
    return Instruction(
        f"amdgcn_mfma_{chip}f32_{size}x{size}x{depth}_{name}",
        64,
        Operand(size, depth, dtype, a_owner, per_lane // parts, parts),
        Operand(depth, size, dtype, b_owner, per_lane // parts, parts),
        Operand(size, size, F32, c_owner, size * size // 64, 1),
        (none, none, none),
        source=source,
    )


INSTRUCTIONS = [
    mfma(16, 4, F32),  # v_mfma_f32_16x16x4_f32
    mfma(32, 2, F32),  # v_mfma_f32_32x32x2_f32
    mfma(16, 16, F16),  # v_mfma_f32_16x16x16_f16
    mfma(32, 8, F16),  # v_mfma_f32_32x32x8_f16
    mfma(16, 16, BF16),  # v_mfma_f32_16x16x16_bf16
    mfma(32, 8, BF16),  # v_mfma_f32_32x32x8_bf16
    mfma(16, 16, F16, chip="gfx90a_"),
    mfma(32, 8, F16, chip="gfx90a_"),
    mfma(16, 16, BF16, chip="gfx90a_"),  # v_mfma_f32_16x16x16_bf16_1k
    mfma(32, 8, BF16, chip="gfx90a_"),  # v_mfma_f32_32x32x8_bf16_1k
    mfma(16, 8, BF16, chip="gfx90a_"),  # v_mfma_f32_16x16x8bf16
    mfma(32, 4, BF16, chip="gfx90a_"),  # v_mfma_f32_32x32x4bf16
    mfma(16, 32, F16, CDNA4),
    mfma(32, 16, F16, CDNA4),
    mfma(16, 32, BF16, CDNA4),
    mfma(32, 16, BF16, CDNA4),
]


def name(instruction: Instruction) -> str:
    return instruction.symbol.removeprefix("amdgcn_mfma_")


all_instructions = pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=name)


@all_instructions
def test_a_lies_as_in_the_table(amd: ModelLibrary, instruction: Instruction) -> None:
    check_operand_a(amd, instruction)


@all_instructions
def test_b_lies_as_in_the_table(amd: ModelLibrary, instruction: Instruction) -> None:
    check_operand_b(amd, instruction)


@all_instructions
def test_c_and_d_lie_as_in_the_table(amd: ModelLibrary, instruction: Instruction) -> None:
    check_accumulator(amd, instruction)


@all_instructions
def test_products_are_numpys(amd: ModelLibrary, instruction: Instruction) -> None:
    check_product(amd, instruction)


@all_instructions
def test_lanes_that_are_elsewhere_are_reported(amd: ModelLibrary, instruction: Instruction) -> None:
    a, b, c = (
        np.ones((operand.rows, operand.columns)) for operand in (instruction.a, instruction.b, instruction.c)
    )
    call = instruction.call(amd, a, b, c, active=(1 << 64) - 1 - (1 << 5))
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert np.all(np.isnan(np.delete(call.value, 5, axis=0)))


@pytest.mark.parametrize("position", [3, 4, 5], ids=["cbsz", "abid", "blgp"])
def test_modifiers_are_reported(amd: ModelLibrary, position: int) -> None:
    instruction = mfma(16, 16, F16)
    a, b, c = (
        operand.scatter(np.ones((16, 16)), 64, np.zeros(()))
        for operand in (instruction.a, instruction.b, instruction.c)
    )
    modifiers = [np.int32(1 if index == position else 0) for index in (3, 4, 5)]
    call = instruction.call_spread(amd, [a, b, c, *modifiers])
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_a_wave_of_32_lanes_is_reported(amd: ModelLibrary) -> None:
    call = amd.call_collective("amdgcn_mfma_f32_16x16x16_f16", warp_size=32)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]


def test_figure_of_c_of_16x16(amd: ModelLibrary) -> None:
    """AMD Instinct MI300 ISA, figure of the output of a 16×16 block: four rows to every 16 lanes."""
    instruction = mfma(16, 16, F16)
    assert instruction.c.table("", 64) == lane_table(
        lambda lane, element: (4 * (lane // 16) + element, lane % 16), 16, 16, 64, 4
    )
    assert instruction.c.table("", 64).splitlines()[5].split()[:3] == ["4", "16:0", "17:0"]


IN_16_BITS = [instruction for instruction in INSTRUCTIONS if instruction.a.dtype != F32]
FLUSHING = [instruction for instruction in IN_16_BITS if "gfx90a" in instruction.symbol]
KEEPING = [instruction for instruction in INSTRUCTIONS if instruction not in FLUSHING]


@all_instructions
def test_subnormal_operands_are_0_on_gfx90a_alone(amd: ModelLibrary, instruction: Instruction) -> None:
    """PyTorch's note "Numerical accuracy": MFMA of 16 bits flushes on MI200, else none does."""
    numbers = ml_dtypes.finfo(instruction.a.dtype)
    least, below = float(numbers.smallest_normal), float(numbers.smallest_normal) / 2
    flushes = instruction in FLUSHING
    assert first_result(amd, instruction, [least], [1.0]) == least
    assert first_result(amd, instruction, [below], [1.0]) == (0 if flushes else below)
    assert first_result(amd, instruction, [1.0], [-below]) == (0 if flushes else -below)


@all_instructions
def test_subnormal_accumulators_and_results_are_0_there_too(
    amd: ModelLibrary, instruction: Instruction
) -> None:
    least, below = 2.0**-126, 2.0**-127
    flushes = instruction in FLUSHING
    assert first_result(amd, instruction, [0.0], [0.0], below) == (0 if flushes else below)
    assert first_result(amd, instruction, [1.0], [-(2.0**-14)], 2.0**-14 + 2.0**-36) == 2.0**-36
    if instruction.a.dtype != F16:  # in f16 no product of normal numbers is so small
        assert first_result(amd, instruction, [2.0**-63], [2.0**-64]) == (0 if flushes else below)
        assert first_result(amd, instruction, [-(2.0**-63)], [2.0**-64], least) == (
            least if flushes else below
        )


@pytest.mark.parametrize("instruction", FLUSHING, ids=name)
def test_gfx90a_adds_products_in_trees_of_pairs(amd: ModelLibrary, instruction: Instruction) -> None:
    """MMA-Sim, arXiv 2511.10909: groups of four, of two by the older instructions, each added as a sum."""
    half_unit, root = 2.0**-24, [2.0**-12] * 4
    assert first_result(amd, instruction, root[:2], root[:2], 1.0) == 1.0 + 2 * half_unit
    of_four = first_result(amd, instruction, [root[0], 0, root[2], 0], root, 1.0)
    adds_fours = instruction.depth * instruction.c.rows == 256
    assert of_four == (1.0 + 2 * half_unit if adds_fours else 1.0)


@pytest.mark.parametrize("instruction", KEEPING, ids=name)
def test_others_add_one_product_after_another(amd: ModelLibrary, instruction: Instruction) -> None:
    """For f32 hardware does so (MMA-Sim); CDNA3 adds 16-bit products otherwise, which is not modelled."""
    half_unit = 2.0**-24
    assert first_result(amd, instruction, [half_unit] * 2, [1.0] * 2, 1.0) == 1.0
    assert first_result(amd, instruction, [half_unit * 2, half_unit], [1.0] * 2, 1.0) == 1.0 + 4 * half_unit


@pytest.mark.parametrize("instruction", [mfma(16, 4, F32), mfma(32, 2, F32)], ids=name)
def test_products_of_f32_are_not_rounded_before_they_are_added(
    amd: ModelLibrary, instruction: Instruction
) -> None:
    factor = 1.0 + 2.0**-12
    assert first_result(amd, instruction, [factor], [factor], -1.0) == 2.0**-11 + 2.0**-24
