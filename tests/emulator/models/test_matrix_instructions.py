"""Matrix instructions of all vendors: products, rounding, and what is reported.

How hardware adds products and what it does with subnormal numbers: docs/emulator.md.
"""

import re

import ml_dtypes
import numpy as np
import pytest
from matrix_instructions import F16, F32, GFX11, INSTRUCTIONS, MatrixInstruction, dpas, gfx11, mfma

from harness.emulator.devices import device

UNIT = 2.0**-23
"""In the last place of 1 in f32."""


def of(instructions: list[MatrixInstruction]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("instruction", instructions, ids=str)


def as_tf32(matrix: np.ndarray) -> np.ndarray:
    """Cut floats off to tf32."""
    return (matrix.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def random_matrices(instruction: MatrixInstruction) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    matrices = []
    for operand in (instruction.a, instruction.b, instruction.c):
        shape = (operand.rows, operand.columns)
        values = generator.standard_normal(shape).astype(operand.dtype)
        matrices.append((as_tf32(values) if operand.is_tf32 else values).astype(np.float64))
    return matrices


@of(INSTRUCTIONS)
def test_products_are_numpys(models, instruction):
    """What lies elsewhere than in the tables makes other products; elements of no matrix are garbage."""
    a, b, c = random_matrices(instruction)
    found, exact = instruction.product(models, a, b, c), a @ b + c
    sums = (a.shape[1] + 1) * UNIT * (np.abs(a) @ np.abs(b) + np.abs(c))
    allowed = sums + float(ml_dtypes.finfo(instruction.c.dtype).eps) / 2 * np.abs(exact)
    assert np.all(np.abs(found.astype(np.float64) - exact) <= allowed), instruction.tables()


@of(INSTRUCTIONS)
def test_lanes_that_are_elsewhere_are_reported(models, instruction):
    ones = [np.ones((operand.rows, operand.columns)) for operand in (instruction.a, instruction.b)]
    c = np.zeros((instruction.c.rows, instruction.c.columns))
    active = (1 << instruction.lanes) - 1 - (1 << 5)
    call = instruction.call(models, *ones, c, filler=1, active=active)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    if instruction.vendor != "intel":
        assert np.all(np.isnan(np.delete(call.value, 5, axis=0).astype(np.float32)))
    fewer = instruction.call(models, *ones, c, filler=1, count=instruction.lanes - 4)
    assert fewer.finding_kinds == ["DIVERGENT_COLLECTIVE"]


@pytest.mark.parametrize(
    ("instruction", "size", "kind"),
    [
        (mfma(16, 16, F16), 32, "DIVERGENT_COLLECTIVE"),
        (gfx11(F16), 64, "DIVERGENT_COLLECTIVE"),
        (dpas(F16), 32, "UNSUPPORTED_OPERAND"),
    ],
    ids=str,
)
def test_warps_of_another_size_are_reported(models, instruction, size, kind):
    call = models(instruction.vendor).call_collective(
        instruction.symbol, [b"\0" * 64] * 3 + list(instruction.more), np.uint32, warp_size=size
    )
    assert call.finding_kinds == [kind]


@of(INSTRUCTIONS)
def test_infinities_and_nan_spread(models, instruction):
    a, b, c = (np.ones((part.rows, part.columns)) for part in (instruction.a, instruction.b, instruction.c))
    a[0, 1], b[0, 5], c[-1, 0] = np.inf, np.nan, -np.inf
    expected = np.where(np.arange(c.shape[1]) == 5, np.nan, a @ np.ones_like(b) + 1)
    expected[-1, 0] = np.nan if len(a) == 1 else -np.inf
    np.testing.assert_array_equal(instruction.product(models, a, b, c).astype(np.float64), expected)


# ------------------------------------------------------------------ rounding


@of(INSTRUCTIONS)
def test_subnormal_operands_are_0_on_gfx90a_alone(models, instruction):
    least = float(ml_dtypes.finfo(instruction.a.dtype).smallest_normal)
    below = least / 2
    assert instruction.first_result(models, [least], [1.0]) == pytest.approx(least)
    if below >= float(ml_dtypes.finfo(instruction.c.dtype).smallest_subnormal):
        kept = 0 if instruction.flushes else below
        assert instruction.first_result(models, [below], [1.0]) == kept
        assert instruction.first_result(models, [1.0], [-below]) == -kept


@of(INSTRUCTIONS)
def test_subnormal_accumulators_and_results_are_0_there_too(models, instruction):
    least = float(ml_dtypes.finfo(instruction.c.dtype).smallest_subnormal)
    assert instruction.first_result(models, [0.0], [0.0], least) == (0 if instruction.flushes else least)
    if instruction.c.dtype == F32 and instruction.a.dtype != F16:  # whose products are never so small
        below, smallest = 2.0**-127, 2.0**-126
        product = instruction.first_result(models, [2.0**-63], [2.0**-64])
        difference = instruction.first_result(models, [-(2.0**-63)], [2.0**-64], smallest)
        assert (product, difference) == ((0, smallest) if instruction.flushes else (below, below))


@of([instruction for instruction in INSTRUCTIONS if instruction.c.dtype == F32])
def test_products_are_added_in_the_order_that_is_documented(models, instruction):
    """gfx90a adds groups as trees of pairs, Intel pairs; the others one product after another, to nearest."""
    root = [2.0**-12] * 4
    pair = instruction.first_result(models, root[:2], root[:2], 1.0)
    assert pair == (1.0 if instruction.products_at_once == 1 else 1.0 + UNIT)
    assert instruction.first_result(models, [2 * root[0], root[1]], root[:2], 1.0) == 1.0 + 2 * UNIT
    if instruction.a.columns > 2:
        apart = instruction.first_result(models, [root[0], 0, root[2], 0], root, 1.0)
        assert apart == (1.0 + UNIT if instruction.products_at_once > 2 else 1.0)


@of([instruction for instruction in INSTRUCTIONS if instruction.c.dtype != F32])
def test_accumulators_of_16_bits_are_rounded_once(models, instruction):
    """In f16: 2048 + 1/2 + 1/2 + 1 = 2050; rounding each sum would leave 2048."""
    large = 2 / float(ml_dtypes.finfo(instruction.c.dtype).eps)
    assert instruction.first_result(models, [0.5, 0.5, 1.0], [1.0] * 3, large) == large + 2


@of([mfma(16, 4, F32), mfma(32, 2, F32)])
def test_products_of_f32_are_fused_into_their_sum(models, instruction):
    factor = 1.0 + 2.0**-12
    assert instruction.first_result(models, [factor], [factor], -1.0) == 2.0**-11 + 2.0**-24


@of([instruction for instruction in INSTRUCTIONS if instruction.a.is_tf32])
def test_lower_bits_of_tf32_are_not_read(models, instruction):
    factor = 1 + 2.0**-10
    found = instruction.first_result(models, [factor + 2.0**-11 + UNIT], [factor + UNIT])
    assert found == factor**2


# ------------------------------------------------------------------ AMD's operands


@of(GFX11)
@pytest.mark.parametrize("position", [0, 1])
def test_operands_that_are_not_replicated_are_reported(models, instruction, position):
    parts = (instruction.a, instruction.b, instruction.c)
    spread = [np.ones((32, part.elements)).astype(part.dtype) for part in parts]
    spread[position][16 + 9, 15] = 2.0
    call = instruction.call_spread(models, spread)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("REPLICATION", 25)]


@pytest.mark.parametrize("position", range(3))
def test_modifiers_that_are_not_modelled_are_reported(models, position):
    instruction, more = mfma(16, 16, F16), tuple(np.int32(i == position) for i in range(3))
    call = instruction.call(models, *[np.ones((16, 16))] * 3, more=more)
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_every_model_of_a_matrix_product_is_in_the_tables():
    chips = ("sm_80", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "bmg")
    symbols = {model.symbol or "" for chip in chips for model in device(chip).models.values()}
    products = {symbol for symbol in symbols if re.search("_(mma|mfma|wmma|dpas)_", symbol)}
    assert {instruction.symbol for instruction in INSTRUCTIONS} == products
