"""Two masks of one tile in one pass: the same elements are hidden."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from codegen.rewrites.execution import execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.simplifications import merge_masks

COEFFICIENTS = st.integers(-2, 2)


@dataclass(frozen=True)
class Inequalities:
    """Of a mask over rows and columns: `row · i' + column · j + symbol · s + constant ≥ 0` for each.

    i' is i, or where there is a modulus its remainder.
    """

    terms: tuple[tuple[int, int, int, int], ...]
    modulus: int | None
    symbol: int
    order: tuple[int, int]
    """Which map dimensions rows and columns run along; a map has three, one of them for neither."""

    def visible(self) -> ir.AffineMap:
        row, column = (ir.AffineDimExpr.get(dimension) for dimension in self.order)
        symbol = ir.AffineSymbolExpr.get(0)
        if self.modulus is not None:
            row = ir.AffineExpr.get_mod(row, self.modulus)
        return ir.AffineMap.get(
            3, 1, [row * r + column * c + symbol * s + constant for r, c, s, constant in self.terms]
        )

    def build(self, x: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
        offsets = [b.index(9)] * 3
        for dimension, offset in zip(self.order, (row, column), strict=True):
            offsets[dimension] = offset
        symbols = [b.index(self.symbol)]
        return attn.mask(x, self.visible(), offsets, symbols, dimensions=self.order, fill=-math.inf).masked

    def holds(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        if self.modulus is not None:
            row = row % self.modulus
        kept = [r * row + c * column + s * self.symbol + constant >= 0 for r, c, s, constant in self.terms]
        return np.logical_and.reduce(kept)


INEQUALITIES = st.builds(
    Inequalities,
    terms=st.lists(st.tuples(COEFFICIENTS, COEFFICIENTS, COEFFICIENTS, st.integers(-4, 4)), min_size=1)
    .map(lambda terms: terms[:2])
    .map(tuple),
    modulus=st.sampled_from([None, 1, 2, 3]),
    symbol=st.integers(-3, 3),
    order=st.permutations(range(3)).map(lambda order: tuple(order[:2])),
)


@settings(max_examples=12)
@given(st.lists(INEQUALITIES, min_size=2, max_size=3), st.integers(0, 3), st.integers(0, 3))
def test_merged_masks_hide_what_either_hides(masks, first_row, first_column):
    x = np.random.default_rng(0).normal(size=(3, 4))

    def build(value):
        row, column = b.index(first_row), b.index(first_column)
        for mask in masks:
            value = mask.build(value, row, column)
        return [value]

    with mlir_context():
        module = payload([x.shape], build)
        assert merge_masks(module) == len(masks) - 1
        assert len(within(module, attn.Mask.NAME)) == 1
        verify(module)
        (result,) = execute(module, [x])
    row, column = np.indices(x.shape)
    kept = [mask.holds(row + first_row, column + first_column) for mask in masks]
    assert np.array_equal(result, np.where(np.logical_and.reduce(kept), x, -np.inf))


MASKS = """
func.func @masks(%x: tensor<4x8xf32>, %head: index, %row: index, %column: index) -> {results} {{
  %first = "attn.mask"(%x, %head, %row, %column)
      {{visible = affine_map<(d0, d1, d2) -> (d1 - d2)>, dimensions = array<i64: 1, 2>, fill = 0.0 : f32}}
      : (tensor<4x8xf32>, index, index, index) -> tensor<4x8xf32>
  {between}
  %second = "attn.mask"({source}, {offsets})
      {{visible = {visible}, dimensions = array<i64: 1, 2>, fill = {fill} : f32}}
      : (tensor<4x8xf32>, index, index, index) -> tensor<4x8xf32>
  return {values} : {types}
}}
"""

MERGED = {
    "results": "tensor<4x8xf32>",
    "between": "",
    "source": "%first",
    "offsets": "%head, %row, %column",
    "visible": "affine_map<(d0, d1, d2) -> (d2 - 1)>",
    "fill": "0.0",
    "values": "%second",
    "types": "tensor<4x8xf32>",
}
TWO = "tensor<4x8xf32>, tensor<4x8xf32>"


def merged(**changes) -> int:
    with mlir_context():
        module = ir.Module.parse(MASKS.format(**(MERGED | changes)))
        before = str(module)
        count = merge_masks(module)
        verify(module)
        assert (str(module) == before) == (count == 0)
    return count


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"fill": "1.0"}, id="another fill"),
        pytest.param({"offsets": "%head, %row, %row"}, id="another place"),
        pytest.param({"visible": "affine_map<(d0, d1, d2) -> (d0 - 1)>"}, id="position of no axis"),
        pytest.param({"source": "%x"}, id="another tile"),
        pytest.param(
            {"results": f"({TWO})", "values": "%first, %second", "types": TWO}, id="first one used, too"
        ),
        pytest.param(
            {
                "between": "%e = linalg.exp ins(%first : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>)"
                " -> tensor<4x8xf32>",
                "source": "%e",
            },
            id="something between",
        ),
    ],
)
def test_other_masks_stay_apart(changes):
    assert merged(**changes) == 0
