"""WMMA: who holds what, and the products, on gfx11 and gfx12.

Sources of the tables: RDNA3 ISA, section 7.9; AMD matrix instruction calculator, architectures RDNA3 and
RDNA4, `--detail-instruction`, "Wave32 matrix element to register mapping with no modifiers".
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
from model_calls import ModelLibrary

RDNA3 = "RDNA3 ISA, section 7.9"
RDNA4 = "AMD matrix instruction calculator, RDNA4"
NAMES = {F16: "f16", BF16: "bf16", F32: "f32"}


# ------------------------------------------------------------------ RDNA3


def a_gfx11(i: int, k: int) -> Place:
    """A[i][k]: GPR ⌊k / 2⌋, half k % 2, lanes i and i + 16."""
    return Place((i, i + 16), k // 2, k % 2)


def b_gfx11(k: int, j: int) -> Place:
    """B[k][j]: GPR ⌊k / 2⌋, half k % 2, lanes j and j + 16."""
    return Place((j, j + 16), k // 2, k % 2)


def c_gfx11(i: int, j: int) -> Place:
    """C or D[i][j]: GPR ⌊i / 2⌋, lane (16·i) % 32 + j; of 16-bit types the half that op_sel names."""
    return Place((16 * i % 32 + j,), i // 2)


def gfx11(dtype: np.dtype, accumulator: np.dtype, half: int = 0, suffix: str = "") -> Instruction:
    parts = 1 if accumulator == F32 else 2
    part = None if accumulator == F32 else half
    return Instruction(
        f"amdgcn_wmma_gfx11_{NAMES[accumulator]}_{NAMES[dtype]}{suffix}",
        32,
        Operand(16, 16, dtype, a_gfx11, 8, 2),
        Operand(16, 16, dtype, b_gfx11, 8, 2),
        Operand(16, 16, accumulator, c_gfx11, 8, parts, part),
        () if accumulator == F32 else (np.bool_(half),),
        source=RDNA3,
    )


# ------------------------------------------------------------------ RDNA4


def a_gfx12(i: int, k: int) -> Place:
    """A[i][k]: GPR 2·⌊k / 8⌋ + ⌊k / 2⌋ % 2, half k % 2, lane 16·(⌊k / 4⌋ % 2) + i."""
    return Place((16 * (k // 4 % 2) + i,), 2 * (k // 8) + k // 2 % 2, k % 2)


def b_gfx12(k: int, j: int) -> Place:
    """B[k][j]: GPR 2·⌊k / 8⌋ + ⌊k / 2⌋ % 2, half k % 2, lane 16·(⌊k / 4⌋ % 2) + j."""
    return Place((16 * (k // 4 % 2) + j,), 2 * (k // 8) + k // 2 % 2, k % 2)


def c_gfx12(i: int, j: int) -> Place:
    """C or D[i][j] of floats: GPR i % 8, lane 16·⌊i / 8⌋ + j."""
    return Place((16 * (i // 8) + j,), i % 8)


def packed_c_gfx12(i: int, j: int) -> Place:
    """C or D[i][j] of 16-bit types: GPR ⌊i / 2⌋ % 4, half i % 2, lane 16·⌊i / 8⌋ + j."""
    return Place((16 * (i // 8) + j,), i // 2 % 4, i % 2)


def gfx12(dtype: np.dtype, accumulator: np.dtype) -> Instruction:
    is_packed = accumulator != F32
    c_owner: Owner = packed_c_gfx12 if is_packed else c_gfx12
    return Instruction(
        f"amdgcn_wmma_gfx12_{NAMES[accumulator]}_{NAMES[dtype]}",
        32,
        Operand(16, 16, dtype, a_gfx12, 4, 2),
        Operand(16, 16, dtype, b_gfx12, 4, 2),
        Operand(16, 16, accumulator, c_owner, 4 if is_packed else 8, 2 if is_packed else 1),
        (np.bool_(False),) if is_packed else (),
        source=RDNA4,
    )


GFX11 = [
    gfx11(F16, F32),
    gfx11(BF16, F32),
    *(
        gfx11(dtype, dtype, half, suffix)
        for dtype in (F16, BF16)
        for half in (0, 1)
        for suffix in ("", "_tied")
    ),
]
GFX12 = [gfx12(F16, F32), gfx12(BF16, F32), gfx12(F16, F16), gfx12(BF16, BF16)]


def identifier(instruction: Instruction) -> str:
    """Return a test's name for an instruction."""
    half = "".join("_high" for operand in instruction.more if operand)
    return instruction.symbol.removeprefix("amdgcn_wmma_") + half


all_instructions = pytest.mark.parametrize("instruction", [*GFX11, *GFX12], ids=identifier)
instructions_of_gfx11 = pytest.mark.parametrize("instruction", GFX11, ids=identifier)


def spread(instruction: Instruction, value: float) -> list[np.ndarray]:
    """Return operands full of one value."""
    matrix = np.full((16, 16), value)
    return [
        operand.scatter(matrix, 32, np.zeros(())) for operand in (instruction.a, instruction.b, instruction.c)
    ]


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
    call = instruction.call_spread(
        amd, [*spread(instruction, 1.0), *instruction.more], active=0xFFFFFFFF - (1 << 20)
    )
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert np.all(np.isnan(np.delete(call.value, 20, axis=0).astype(np.float32)))


@instructions_of_gfx11
@pytest.mark.parametrize(("position", "letter"), [(0, "A"), (1, "B")])
def test_operands_that_are_not_replicated_are_reported(
    amd: ModelLibrary, instruction: Instruction, position: int, letter: str
) -> None:
    operands = spread(instruction, 1.0)
    operands[position][16 + 9, 15] = 2.0
    call = instruction.call_spread(amd, [*operands, *instruction.more])
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("REPLICATION", 25)]
    assert f"operand {letter} differs from lane 9" in call.findings[0].message


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("dtype", [F16, BF16], ids=["f16", "bf16"])
def test_a_tied_result_keeps_the_other_halves(amd: ModelLibrary, dtype: np.dtype, half: int) -> None:
    instruction = gfx11(dtype, dtype, half, "_tied")
    ones = np.ones((16, 16))
    call = instruction.call(amd, ones, ones, ones, filler=3.0)
    assert np.all(call.value[:, half::2].astype(np.float32) == 17.0)
    assert np.all(call.value[:, 1 - half :: 2].astype(np.float32) == 3.0)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=["f16", "bf16"])
def test_otherwise_the_other_halves_are_undefined(amd: ModelLibrary, dtype: np.dtype) -> None:
    ones = np.ones((16, 16))
    call = gfx11(dtype, dtype).call(amd, ones, ones, ones, filler=3.0)
    assert np.all(np.isnan(call.value[:, 1::2].astype(np.float32)))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=["f16", "bf16"])
def test_gfx12_has_no_upper_halves(amd: ModelLibrary, dtype: np.dtype) -> None:
    instruction = gfx12(dtype, dtype)
    call = instruction.call_spread(amd, [*spread(instruction, 1.0), np.bool_(True)])
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_a_wave_of_64_lanes_is_reported(amd: ModelLibrary) -> None:
    call = amd.call_collective("amdgcn_wmma_gfx11_f32_f16", warp_size=64)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]


@all_instructions
def test_subnormal_numbers_are_kept(amd: ModelLibrary, instruction: Instruction) -> None:
    """PyTorch's note "Numerical accuracy": of AMD's GPUs only MI200 flushes them."""
    below = float(ml_dtypes.finfo(instruction.a.dtype).smallest_normal) / 2
    assert first_result(amd, instruction, [below], [1.0]) == below
    least = float(ml_dtypes.finfo(instruction.c.dtype).smallest_subnormal)
    assert first_result(amd, instruction, [0.0], [0.0], least) == least


@pytest.mark.parametrize("instruction", [gfx11(F16, F32), gfx12(BF16, F32)], ids=identifier)
def test_one_product_is_added_after_another(amd: ModelLibrary, instruction: Instruction) -> None:
    """No source says how hardware does it."""
    root, unit = [2.0**-12] * 2, 2.0**-23
    assert first_result(amd, instruction, root, root, 1.0) == 1.0
    assert first_result(amd, instruction, [2 * root[0], root[1]], root, 1.0) == 1.0 + 2 * unit


@pytest.mark.parametrize("instruction", [gfx11(F16, F16), gfx12(F16, F16)], ids=identifier)
def test_sixteen_bit_accumulators_are_rounded_once(amd: ModelLibrary, instruction: Instruction) -> None:
    assert first_result(amd, instruction, [0.5, 0.5, 1.0], [1.0] * 3, 2048.0) == 2050.0
