"""NVIDIA's mma.sync: the layout of each operand, against the ISA's formulas, and the products.

The formulas are in `nvidia_fragments`.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from fragment_tables import Placement, assert_placement
from model_calls import Call, ModelLibrary
from nvidia_fragments import (
    a_k4_tf32,
    a_k8,
    a_k8_tf32,
    a_k16,
    accumulator,
    b_k4_tf32,
    b_k8,
    b_k8_tf32,
    b_k16,
)

LANES, M, N = 32, 16, 8


@dataclass(frozen=True)
class Instruction:
    """One mma.sync instruction."""

    symbol: str
    k: int
    element: type
    """The type of A's and B's elements; tf32 is np.float32."""
    accumulator: type
    a: Placement
    b: Placement
    a_figure: int
    b_figure: int
    d_figure: int
    """The ISA's figures of the layouts."""

    @property
    def a_elements(self) -> int:
        """Elements of A that a lane holds."""
        return M * self.k // LANES

    @property
    def b_elements(self) -> int:
        """Elements of B that a lane holds."""
        return N * self.k // LANES


F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
INSTRUCTIONS = [
    Instruction("nvvm_mma_m16n8k16_f16_f32", 16, F16, F32, a_k16, b_k16, 79, 81, 83),
    Instruction("nvvm_mma_m16n8k16_f16_f16", 16, F16, F16, a_k16, b_k16, 79, 81, 83),
    Instruction("nvvm_mma_m16n8k16_bf16", 16, BF16, F32, a_k16, b_k16, 79, 81, 83),
    Instruction("nvvm_mma_m16n8k8_f16_f32", 8, F16, F32, a_k8, b_k8, 71, 74, 77),
    Instruction("nvvm_mma_m16n8k8_f16_f16", 8, F16, F16, a_k8, b_k8, 71, 74, 77),
    Instruction("nvvm_mma_m16n8k8_bf16", 8, BF16, F32, a_k8, b_k8, 71, 74, 77),
    Instruction("nvvm_mma_m16n8k8_tf32", 8, F32, F32, a_k8_tf32, b_k8_tf32, 72, 75, 77),
    Instruction("nvvm_mma_m16n8k4_tf32", 4, F32, F32, a_k4_tf32, b_k4_tf32, 65, 67, 69),
]
each_instruction = pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda known: known.symbol[9:])


def fragment(matrix: np.ndarray, placement: Placement, elements: int) -> np.ndarray:
    """Return the elements that each lane holds, [lanes, elements]."""
    return np.array([[matrix[placement(lane, i)] for i in range(elements)] for lane in range(LANES)])


def registers(elements: np.ndarray, dtype: type) -> list[np.ndarray]:
    """Return the 32-bit registers, [lanes] arguments each, of the elements that each lane holds."""
    words = np.ascontiguousarray(elements.astype(dtype)).view(np.uint32)
    return [words[:, register].copy() for register in range(words.shape[1])]


def multiply_fragments(
    library: ModelLibrary, instruction: Instruction, a: np.ndarray, b: np.ndarray, c: np.ndarray
) -> Call:
    """Call the model with what each lane holds of A, B and C, each [lanes, elements]."""
    arguments = [
        *registers(a, instruction.element),
        *registers(b, instruction.element),
        *registers(c, instruction.accumulator),
    ]
    return library.call_collective(instruction.symbol, arguments, np.dtype((instruction.accumulator, 4)))


def as_matrix(values: np.ndarray) -> np.ndarray:
    """Return D from what each lane holds of it."""
    matrix = np.full((M, N), np.nan)
    for lane in range(LANES):
        for i in range(4):
            matrix[accumulator(lane, i)] = values[lane, i]
    return matrix


def numbered(elements: int) -> np.ndarray:
    """Return a number of its own for each element of each lane, from 1: at most 256, exact in every type."""
    return 1 + np.arange(LANES * elements).reshape(LANES, elements)


def unit(row: int, column: int, rows: int, columns: int) -> np.ndarray:
    """Return a matrix with a single 1."""
    matrix = np.zeros((rows, columns))
    matrix[row, column] = 1
    return matrix


def slots(matrix: np.ndarray, elements: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Return where in a matrix of element numbers each (lane, element) is found."""
    return {
        divmod(int(number) - 1, elements): (row, column)
        for (row, column), number in np.ndenumerate(matrix)
        if number > 0
    }


def figure(number: int) -> str:
    """Return where a layout is drawn."""
    return f"PTX ISA 9.2, figure {number},"


@each_instruction
def test_layout_of_a(nvidia: ModelLibrary, instruction: Instruction) -> None:
    k, elements = instruction.k, instruction.a_elements
    found = np.zeros((M, k))
    for inner in range(k):
        b = fragment(unit(inner, inner % N, k, N), instruction.b, instruction.b_elements)
        call = multiply_fragments(nvidia, instruction, numbered(elements), b, np.zeros((LANES, 4)))
        found[:, inner] = as_matrix(call.value)[:, inner % N]
    assert_placement(
        slots(found, elements),
        instruction.a,
        rows=M,
        columns=k,
        lanes=LANES,
        elements=elements,
        letter="a",
        source=figure(instruction.a_figure),
    )


@each_instruction
def test_layout_of_b(nvidia: ModelLibrary, instruction: Instruction) -> None:
    k, elements = instruction.k, instruction.b_elements
    found = np.zeros((k, N))
    for inner in range(k):
        a = fragment(unit(inner, inner, M, k), instruction.a, instruction.a_elements)
        call = multiply_fragments(nvidia, instruction, a, numbered(elements), np.zeros((LANES, 4)))
        found[inner] = as_matrix(call.value)[inner]
    assert_placement(
        slots(found, elements),
        instruction.b,
        rows=k,
        columns=N,
        lanes=LANES,
        elements=elements,
        letter="b",
        source=figure(instruction.b_figure),
    )


@each_instruction
def test_layout_of_d(nvidia: ModelLibrary, instruction: Instruction) -> None:
    # Rows of A times columns of B number the elements of D: row · 8 + column.
    rows, columns = np.arange(M)[:, None] * np.eye(1, instruction.k), np.zeros((instruction.k, N))
    rows[:, 1], columns[0], columns[1] = 1, N, np.arange(N)
    a = fragment(rows, instruction.a, instruction.a_elements)
    b = fragment(columns, instruction.b, instruction.b_elements)
    values = multiply_fragments(nvidia, instruction, a, b, np.zeros((LANES, 4))).value
    found = {(lane, i): divmod(int(values[lane, i]), N) for lane in range(LANES) for i in range(4)}
    assert_placement(
        found,
        accumulator,
        rows=M,
        columns=N,
        lanes=LANES,
        elements=4,
        letter="d",
        source=figure(instruction.d_figure),
    )


@each_instruction
def test_c_has_the_layout_of_d(nvidia: ModelLibrary, instruction: Instruction) -> None:
    a, b = np.zeros((LANES, instruction.a_elements)), np.zeros((LANES, instruction.b_elements))
    values = multiply_fragments(nvidia, instruction, a, b, numbered(4)).value
    np.testing.assert_array_equal(values.astype(np.float64), numbered(4))


@each_instruction
def test_products(nvidia: ModelLibrary, instruction: Instruction) -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((M, instruction.k)).astype(instruction.element)
    b = random.standard_normal((instruction.k, N)).astype(instruction.element)
    c = random.standard_normal((M, N)).astype(instruction.accumulator)
    if instruction.element is np.float32:
        a, b = (as_tf32(matrix) for matrix in (a, b))
    call = multiply_fragments(
        nvidia,
        instruction,
        fragment(a, instruction.a, instruction.a_elements),
        fragment(b, instruction.b, instruction.b_elements),
        fragment(c, accumulator, 4),
    )
    exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(c).astype(np.float64)
    sums = (instruction.k + 1) * np.finfo(np.float32).eps / 2 * magnitude
    rounding = np.finfo(instruction.accumulator).eps / 2 * np.abs(exact)
    assert (np.abs(as_matrix(call.value) - exact) <= sums + rounding).all()
    assert call.findings == ()


def as_tf32(matrix: np.ndarray) -> np.ndarray:
    """Cut floats off to tf32."""
    return (matrix.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("instruction", INSTRUCTIONS[-2:], ids=lambda known: known.symbol[9:])
def test_the_lower_bits_of_tf32_are_not_read(nvidia: ModelLibrary, instruction: Instruction) -> None:
    nearly_two = np.nextafter(np.float32(2), np.float32(0))
    a = np.full((LANES, instruction.a_elements), nearly_two)
    b = np.ones((LANES, instruction.b_elements))
    found = as_matrix(multiply_fragments(nvidia, instruction, a, b, np.zeros((LANES, 4))).value)
    assert (found == instruction.k * (2 - 2.0**-10)).all()


@each_instruction
def test_infinities_and_nan_spread(nvidia: ModelLibrary, instruction: Instruction) -> None:
    a, b, c = np.ones((M, instruction.k)), np.ones((instruction.k, N)), np.zeros((M, N))
    a[3, 1], b[2, 5], c[9, 0] = np.inf, np.nan, -np.inf
    expected = np.full((M, N), float(instruction.k))
    expected[3], expected[9, 0], expected[:, 5] = np.inf, -np.inf, np.nan
    call = multiply_fragments(
        nvidia,
        instruction,
        fragment(a, instruction.a, instruction.a_elements),
        fragment(b, instruction.b, instruction.b_elements),
        fragment(c, accumulator, 4),
    )
    np.testing.assert_array_equal(as_matrix(call.value), expected)


@pytest.mark.parametrize(("active", "count"), [(0x7FFFFFFF, 32), (0x0000FFFF, 16)])
@each_instruction
def test_the_whole_warp_is_needed(
    nvidia: ModelLibrary, instruction: Instruction, active: int, count: int
) -> None:
    result = np.dtype((instruction.accumulator, 4))
    zeros = [np.uint32(0)] * 10
    call = nvidia.call_collective(instruction.symbol, zeros, result, active=active, count=count)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert np.isnan(call.value[:16].astype(np.float64)).all()


def first_result(
    library: ModelLibrary, instruction: Instruction, row: list[float], column: list[float], start: float = 0.0
) -> float:
    """Return D[0][0] where the first row of A and the first column of B begin so, and all else is 0."""
    a, b, c = np.zeros((M, instruction.k)), np.zeros((instruction.k, N)), np.zeros((M, N))
    a[0, : len(row)], b[: len(column), 0], c[0, 0] = row, column, start
    held = (
        fragment(a, instruction.a, instruction.a_elements),
        fragment(b, instruction.b, instruction.b_elements),
        fragment(c, accumulator, 4),
    )
    return float(as_matrix(multiply_fragments(library, instruction, *held).value)[0, 0])


into_floats = pytest.mark.parametrize(
    "instruction", [one for one in INSTRUCTIONS if one.accumulator is F32], ids=lambda known: known.symbol[9:]
)


@each_instruction
def test_subnormal_numbers_are_kept(nvidia: ModelLibrary, instruction: Instruction) -> None:
    """PTX leaves it open; measured on V100, T4 and A100 (Fasi and others, 2021), and since (MMA-Sim)."""
    below = float(ml_dtypes.finfo(instruction.element).smallest_normal) / 2
    assert first_result(nvidia, instruction, [below], [1.0]) == below
    least = float(ml_dtypes.finfo(instruction.accumulator).smallest_subnormal)
    assert first_result(nvidia, instruction, [0.0], [0.0], least) == least


@into_floats
def test_one_product_is_added_after_another_to_nearest(
    nvidia: ModelLibrary, instruction: Instruction
) -> None:
    """Hardware adds several at once and truncates (the same sources), which is not modelled: it has
    1 + 2⁻²³ for both sums here."""
    root, unit = [2.0**-12] * 3, 2.0**-23
    assert first_result(nvidia, instruction, root[:2], root[:2], 1.0) == 1.0
    assert first_result(nvidia, instruction, [2 * root[0], root[1]], root[:2], 1.0) == 1.0 + 2 * unit


@pytest.mark.parametrize("symbol", ["nvvm_mma_m16n8k16_f16_f16", "nvvm_mma_m16n8k8_f16_f16"])
def test_accumulators_in_f16_are_rounded_once(nvidia: ModelLibrary, symbol: str) -> None:
    (instruction,) = (one for one in INSTRUCTIONS if one.symbol == symbol)
    assert first_result(nvidia, instruction, [0.5, 0.5, 1.0], [1.0] * 3, 2048.0) == 2050.0
