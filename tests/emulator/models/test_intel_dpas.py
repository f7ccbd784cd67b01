"""DPAS: who holds what, and the products.

Source of the layouts: SPV_INTEL_subgroup_matrix_multiply_accumulate, "Mapping Matrix Data to Invocations",
for a sub-group of 16; of names, shapes and types: cl_intel_subgroup_matrix_multiply_accumulate, _tf32.
"""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from fragment_tables import Placement, lane_table
from intel_builtins import LANES, call, call_mangled
from model_calls import Call, ModelLibrary

from harness.emulator.models.intel.mangling import vector

ROWS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Format:
    """Operands of a product: how they are packed, and the values that tests draw."""

    name: str
    bits: int
    depth: int
    a_type: str
    b_type: str

    @property
    def a_elements(self) -> int:
        """Elements of A per lane and component of its vector."""
        return max(16 // self.bits, 1)


F16 = Format("f16", 16, 16, "s", "i")
BF16 = Format("bf16", 16, 16, "s", "i")
TF32 = Format("tf32", 32, 8, "f", "f")
I8 = Format("i8", 8, 32, "s", "i")
U8 = Format("u8", 8, 32, "t", "j")
I4 = Format("i4", 4, 64, "s", "i")
U4 = Format("u4", 4, 64, "t", "j")

PRODUCTS = [
    *((kind, kind, accumulator) for kind, accumulators in ((F16, ("f", "Dh")), (BF16, ("f", "s")))
      for accumulator in accumulators),
    (TF32, TF32, "f"),
    *((a, b, "i") for pair in ((I8, U8), (I4, U4)) for a in pair for b in pair),
]  # fmt: skip
"""Formats of A and B with the type of C."""

all_products = pytest.mark.parametrize(
    ("a_format", "b_format", "accumulator"), PRODUCTS, ids=lambda value: getattr(value, "name", value)
)
all_rows = pytest.mark.parametrize("rows", ROWS)


# ------------------------------------------------------------------ the tables


def owner_of_a(kind: Format) -> Placement:
    """(m, k) of an element of A: a component holds the columns of its row that fit into 16 bits."""

    def place(lane: int, element: int) -> tuple[int, int]:
        if kind is TF32:  # 8 columns: lanes 8 to 15 have the odd rows
            return 2 * element + lane // 8, lane % 8
        return element // kind.a_elements, lane * kind.a_elements + element % kind.a_elements

    return place


def owner_of_b(lane: int, element: int) -> tuple[int, int]:
    """(k, n)."""
    return element, lane


def owner_of_c(lane: int, element: int) -> tuple[int, int]:
    """(m, n)."""
    return element, lane


def a_count(kind: Format, rows: int) -> int:
    """Elements of A per lane."""
    return max(rows // 2, 1) if kind is TF32 else rows * kind.a_elements


# ------------------------------------------------------------------ packing and calling


def packed(kind: Format, elements: np.ndarray) -> np.ndarray:
    """Return each lane's elements [lanes, elements] as bytes [lanes, …], lower ones in lower bits."""
    if kind.bits == 4:
        nibbles = elements.astype(np.int64) & 0xF
        return (nibbles[:, 0::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    dtypes = {
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "tf32": np.float32,
        "i8": np.int8,
        "u8": np.uint8,
    }
    return np.ascontiguousarray(elements.astype(dtypes[kind.name])).view(np.uint8)


def distributed(matrix: np.ndarray, place: Callable[[int, int], tuple[int, int]], count: int) -> np.ndarray:
    """Return [lanes, elements] of a matrix; what lies outside of it is 99."""
    held = np.full((LANES, count), 99.0)
    for lane in range(LANES):
        for element in range(count):
            row, column = place(lane, element)
            if row < matrix.shape[0] and column < matrix.shape[1]:
                held[lane, element] = matrix[row, column]
    return held


def result_type(accumulator: str) -> np.dtype:
    return np.dtype({"f": np.float32, "Dh": np.float16, "s": ml_dtypes.bfloat16, "i": np.int32}[accumulator])


def builtin(a_format: Format, b_format: Format) -> str:
    return f"intel_sub_group_{a_format.name}_{b_format.name}_matrix_mad_k{a_format.depth}"


def call_dpas(
    intel: ModelLibrary,
    formats: tuple[Format, Format, str],
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    active: int | None = None,
    **options: int,
) -> Call:
    """Call the builtin with each lane's elements, [lanes, elements]."""
    a_format, b_format, accumulator = formats
    rows = c.shape[1]
    kind = result_type(accumulator)
    a_width = max(rows // 2, 1) if a_format is TF32 else rows
    types = [vector(a_format.a_type, a_width), vector(b_format.b_type, 8), vector(accumulator, rows)]
    arguments = [packed(a_format, a), packed(b_format, b), c.astype(kind)]
    return call(
        intel,
        builtin(a_format, b_format),
        types,
        arguments,
        np.dtype((kind, (rows,))),
        active=active,
        **options,
    )


def matrices(formats: tuple[Format, Format, str], rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw A, B and C of values that their types hold exactly."""
    a_format, b_format, accumulator = formats
    random = np.random.default_rng(rows)
    shapes = ((rows, a_format.depth), (a_format.depth, LANES))
    if accumulator == "i":
        limits = {"i8": (-128, 128), "u8": (0, 256), "i4": (-8, 8), "u4": (0, 16)}
        a, b = (
            random.integers(*limits[kind.name], shape)
            for kind, shape in zip((a_format, b_format), shapes, strict=True)
        )
        return a, b, random.integers(-(2**31), 2**31, (rows, LANES))
    a, b = (random.normal(size=shape) for shape in shapes)
    c = random.normal(size=(rows, LANES))
    return rounded(a_format, a), rounded(b_format, b), c.astype(result_type(accumulator)).astype(np.float64)


def rounded(kind: Format, values: np.ndarray) -> np.ndarray:
    """Return values of a format close to some, in float64."""
    if kind is TF32:
        bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(np.float64)
    return values.astype({"f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind.name]).astype(np.float64)


# ------------------------------------------------------------------ layouts


@pytest.mark.parametrize(
    ("kind", "accumulator"),
    [(F16, "f"), (BF16, "f"), (TF32, "f"), (I8, "i"), (U8, "i"), (I4, "i"), (U4, "i")],
    ids=lambda value: getattr(value, "name", value),
)
@all_rows
def test_layout_of_a(intel: ModelLibrary, kind: Format, accumulator: str, rows: int) -> None:
    """A single 1 in A picks a row of B and puts it into a row of the result.

    Each row of B holds a 1 and the row's number, as two digits in base 8: 4-bit operands end at 7.
    """
    formats = (kind, kind, accumulator)
    count = a_count(kind, rows)
    place = owner_of_a(kind)
    numbers = np.arange(kind.depth)
    b = np.zeros((LANES, kind.depth))
    b[0], b[1], b[2] = 1, numbers & 7, numbers >> 3
    expected, found = {}, {}
    for lane in range(LANES):
        for element in range(count):
            a = np.zeros((LANES, count))
            a[lane, element] = 1
            one, low, high = call_dpas(intel, formats, a, b, np.zeros((LANES, rows))).value[:3].astype(int)
            found[lane, element] = [(int(m), int(low[m]) + 8 * int(high[m])) for m in np.flatnonzero(one)]
            owner = place(lane, element)
            expected[lane, element] = [owner] if owner[0] < rows else []  # a single row of tf32
    assert found == expected, "A is expected as lane:element\n" + lane_table(
        place, max(rows, 2), kind.depth, LANES, count, "a"
    )


@all_products
def test_layout_of_b(intel: ModelLibrary, a_format: Format, b_format: Format, accumulator: str) -> None:
    """A single 1 in a column of B picks a column of A, whose rows 0 to 2 hold a 1 and the column's number.

    Eight lanes are asked at once, each for another row of B: the other columns of the result stay 0.
    """
    rows, depth = 8, a_format.depth
    numbers = np.arange(depth)
    a_matrix = np.zeros((rows, depth))
    a_matrix[0], a_matrix[1], a_matrix[2] = 1, numbers & 7, numbers >> 3
    a = distributed(a_matrix, owner_of_a(a_format), a_count(a_format, rows))
    for lanes in (range(8), range(8, LANES)):
        for element in range(depth):
            held = [(lane, (element + lane) % depth) for lane in lanes]
            b = np.zeros((LANES, depth))
            for lane, own_element in held:
                b[lane, own_element] = 1
            made = call_dpas(intel, (a_format, b_format, accumulator), a, b, np.zeros((LANES, rows)))
            one, low, high = made.value.astype(int).T[:3]
            found = [(int(low[n]) + 8 * int(high[n]), int(n)) for n in np.flatnonzero(one)]
            expected = [owner_of_b(lane, own_element) for lane, own_element in held]
            assert found == expected, "B is expected as lane:element\n" + lane_table(
                owner_of_b, depth, LANES, LANES, depth, "b"
            )


@all_products
@all_rows
def test_layout_of_c_and_the_result(
    intel: ModelLibrary, a_format: Format, b_format: Format, accumulator: str, rows: int
) -> None:
    """With A = 0 the result is C, in place."""
    c = np.arange(LANES * rows).reshape(LANES, rows)
    a, b = np.zeros((LANES, a_count(a_format, rows))), np.zeros((LANES, a_format.depth))
    product = call_dpas(intel, (a_format, b_format, accumulator), a, b, c)
    np.testing.assert_array_equal(product.value.astype(np.float64), c)
    # and, by a product, C's rows and columns are those of A and B:
    a_matrix, b_matrix, _ = matrices((a_format, b_format, accumulator), rows)
    a = distributed(a_matrix, owner_of_a(a_format), a_count(a_format, rows))
    b = distributed(b_matrix, owner_of_b, a_format.depth)
    product = call_dpas(intel, (a_format, b_format, accumulator), a, b, np.zeros((LANES, rows)))
    expected = distributed(a_matrix @ b_matrix, owner_of_c, rows)
    np.testing.assert_allclose(
        product.value.astype(np.float64), expected, rtol=0.02, atol=0.1,
        err_msg="the result is expected as lane:element\n"
        + lane_table(owner_of_c, rows, LANES, LANES, rows, "d"),
    )  # fmt: skip


# ------------------------------------------------------------------ values


@all_products
@all_rows
def test_products_against_float64(
    intel: ModelLibrary, a_format: Format, b_format: Format, accumulator: str, rows: int
) -> None:
    formats = (a_format, b_format, accumulator)
    a, b, c = matrices(formats, rows)
    product = call_dpas(
        intel,
        formats,
        distributed(a, owner_of_a(a_format), a_count(a_format, rows)),
        distributed(b, owner_of_b, a_format.depth),
        distributed(c, owner_of_c, rows),
    )
    assert product.findings == ()
    if accumulator == "i":
        exact = a.astype(np.int64) @ b.astype(np.int64) + c.astype(np.int64)
        np.testing.assert_array_equal(product.value.T, exact.astype(np.uint32).view(np.int32))
        return
    exact = a @ b + c
    unit = ml_dtypes.finfo(result_type(accumulator)).eps
    f32_sums = (a_format.depth + 1) * np.finfo(np.float32).eps * (np.abs(a) @ np.abs(b) + np.abs(c))
    error = np.abs(product.value.T.astype(np.float64) - exact)
    assert (error <= f32_sums + unit / 2 * np.abs(exact) * (accumulator != "f")).all()


def test_sums_of_integers_wrap_around(intel: ModelLibrary) -> None:
    a, b = np.full((LANES, 2), 127), np.full((LANES, 32), 127)
    product = call_dpas(intel, (I8, I8, "i"), a, b, np.full((LANES, 1), 2**31 - 1))
    assert set(product.value.ravel().tolist()) == {2**31 - 1 + 32 * 127 * 127 - 2**32}


def test_tf32_reads_ten_bits_of_the_mantissa(intel: ModelLibrary) -> None:
    a, b = np.zeros((LANES, 4)), np.zeros((LANES, 8))
    a[0, 0], b[:, 0] = 1 + 2.0**-10 + 2.0**-11 + 2.0**-23, 1 + 2.0**-10
    product = call_dpas(intel, (TF32, TF32, "f"), a, b, np.zeros((LANES, 8)))
    assert set(product.value[:, 0].tolist()) == {(1 + 2.0**-10) ** 2}


def test_a_single_row_of_tf32_ignores_the_upper_lanes(intel: ModelLibrary) -> None:
    a = np.where(np.arange(LANES) < 8, 1.0, np.nan)[:, None]
    product = call_dpas(intel, (TF32, TF32, "f"), a, np.ones((LANES, 8)), np.zeros((LANES, 1)))
    assert set(product.value.ravel().tolist()) == {8.0}


def test_sixteen_bit_accumulators_are_rounded_once(intel: ModelLibrary) -> None:
    """2048 + 1/2 + 1/2 + 1 = 2050 in f16; rounding each sum would leave 2048."""
    a, b = np.zeros((LANES, 8)), np.ones((LANES, 16))
    a[:3, 0] = 0.5, 0.5, 1
    product = call_dpas(intel, (F16, F16, "Dh"), a, b, np.full((LANES, 8), 2048))
    assert set(product.value[:, 0].tolist()) == {2050.0}


@pytest.mark.parametrize(("kind", "pairs"), [(F16, True), (BF16, True), (TF32, False)])
def test_products_of_16_bits_are_added_in_pairs(intel: ModelLibrary, kind: Format, pairs: bool) -> None:
    """Intel Graphics Compiler, DPAS: `temp += dot2(...)` for two 16-bit elements, one product for tf32."""
    a = np.zeros((16, 16))
    a[:, :2] = 2.0**-12
    held = distributed(a[:1, : kind.depth], owner_of_a(kind), a_count(kind, 1))
    b = np.full((LANES, kind.depth), 2.0**-12)
    product = call_dpas(intel, (kind, kind, "f"), held, b, np.ones((LANES, 1)))
    assert set(product.value.ravel().tolist()) == {1.0 + 2.0**-23 if pairs else 1.0}


@pytest.mark.parametrize("kind", [F16, BF16, TF32])
def test_subnormal_numbers_are_kept(intel: ModelLibrary, kind: Format) -> None:
    """No source says what hardware does."""
    below = {F16: 2.0**-15, BF16: 2.0**-127, TF32: 2.0**-127}[kind]
    a = np.zeros((1, kind.depth))
    a[0, 0] = below
    held = distributed(a, owner_of_a(kind), a_count(kind, 1))
    product = call_dpas(intel, (kind, kind, "f"), held, np.ones((LANES, kind.depth)), np.zeros((LANES, 1)))
    assert set(product.value.ravel().tolist()) == {below}


def test_infinities_and_nans_come_through(intel: ModelLibrary) -> None:
    a, b = np.zeros((LANES, 8)), np.ones((LANES, 16))
    a[0, 0], a[1, 1] = np.inf, np.nan
    product = call_dpas(intel, (F16, F16, "f"), a, b, np.zeros((LANES, 8)))
    assert (product.value[:, 0] == np.inf).all()
    assert np.isnan(product.value[:, 1]).all()
    assert (product.value[:, 2:] == 0).all()


# ------------------------------------------------------------------ spellings and findings


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f", (F16, F16, "f")),
        ("_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iS_", (BF16, BF16, "s")),
        ("_Z36intel_sub_group_s8_s8_matrix_mad_k32Dv8_sDv8_iS0_", (I8, I8, "i")),
        ("_Z36intel_sub_group_s8_u8_matrix_mad_k32Dv8_sDv8_iS0_", (I8, U8, "i")),
        ("_Z36intel_sub_group_u8_s8_matrix_mad_k32Dv8_sDv8_iS0_", (U8, I8, "i")),
        ("_Z36intel_sub_group_u8_u8_matrix_mad_k32Dv8_sDv8_iS0_", (U8, U8, "i")),
    ],
)
def test_spellings_of_mlir(intel: ModelLibrary, name: str, formats: tuple[Format, Format, str]) -> None:
    a_format, b_format, accumulator = formats
    a, b, c = matrices(formats, 8)
    held = (
        distributed(a, owner_of_a(a_format), a_count(a_format, 8)),
        distributed(b, owner_of_b, a_format.depth),
        distributed(c, owner_of_c, 8),
    )
    kind = result_type(accumulator)
    arguments = [packed(a_format, held[0]), packed(b_format, held[1]), held[2].astype(kind)]
    spelled = call_mangled(intel, name, arguments, np.dtype((kind, (8,))))
    np.testing.assert_array_equal(spelled.value, call_dpas(intel, formats, *held).value)


@all_products
def test_all_sixteen_lanes_must_take_part(
    intel: ModelLibrary, a_format: Format, b_format: Format, accumulator: str
) -> None:
    formats = (a_format, b_format, accumulator)
    a, b = np.ones((LANES, a_count(a_format, 8))), np.ones((LANES, a_format.depth))
    c = np.zeros((LANES, 8))
    assert call_dpas(intel, formats, a, b, c, active=0x7FFF).finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert call_dpas(intel, formats, a, b, c, count=12).finding_kinds == ["DIVERGENT_COLLECTIVE"]


def test_another_sub_group_size_is_not_supported(intel: ModelLibrary) -> None:
    a, b, c = np.ones((32, 8)), np.ones((32, 16)), np.zeros((32, 8))
    product = call_dpas(intel, (F16, F16, "f"), a, b, c, warp_size=32)
    assert product.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert np.isnan(product.value).all()
