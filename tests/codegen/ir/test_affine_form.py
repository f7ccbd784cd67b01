"""Affine expressions as coefficients."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.affine_form import AffineForm


def form_of(text: str) -> AffineForm:
    with mlir_context():
        (expression,) = ir.AffineMapAttr.parse(f"affine_map<(d0, d1)[s0, s1] -> ({text})>").value.results
        return AffineForm.of(expression)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", AffineForm(constant=7)),
        ("d1", AffineForm(dimensions={1: 1})),
        ("s0", AffineForm(symbols={0: 1})),
        ("-d0", AffineForm(dimensions={0: -1})),
        ("d0 - d1 + 3", AffineForm({0: 1, 1: -1}, {}, 3)),
        ("(d0 + 2) * 3", AffineForm({0: 3}, {}, 6)),
        ("2 * (d0 - s1 * 4 - 1)", AffineForm({0: 2}, {1: -8}, -2)),
        ("(d0 + d1) - (d1 + s0) + s0", AffineForm({0: 1}, {}, 0)),
        ("d0 + d1 mod 3", AffineForm({0: 1}, {}, 0, {(1, 3): 1})),
        ("(d1 - d0 mod 4) * 2 + d1 mod 3 + 1", AffineForm({1: 2}, {}, 1, {(0, 4): -2, (1, 3): 1})),
    ],
)
def test_coefficients_and_constant(text, expected):
    assert form_of(text) == expected


@pytest.mark.parametrize(
    "text", ["d0 floordiv 2", "d0 ceildiv 2", "s0 mod 3", "(d0 + d1) mod 3", "d0 * s0", "(d0 mod 3) * s0"]
)
def test_what_is_no_integer_combination_is_refused(text):
    with pytest.raises(ValueError, match="is not an integer combination of its dimensions and symbols"):
        form_of(text)


COEFFICIENTS = st.tuples(*[st.integers(-3, 3)] * 2)


@settings(max_examples=30)
@given(COEFFICIENTS, COEFFICIENTS, st.integers(-9, 9), st.integers(-2, 2))
def test_only_coefficients_other_than_0_are_there(dimensions, symbols, constant, factor):
    with mlir_context():
        expression = ir.AffineConstantExpr.get(constant)
        for position in range(2):
            expression = expression + ir.AffineDimExpr.get(position) * dimensions[position]
            expression = expression + ir.AffineSymbolExpr.get(position) * symbols[position]
        # An expression that simplifies has its right class only when it is read from a map.
        (simplified,) = ir.AffineMap.get(2, 2, [expression * factor]).results
        form = AffineForm.of(simplified)
    assert form.constant == factor * constant
    for found, coefficients in ((form.dimensions, dimensions), (form.symbols, symbols)):
        expected = {position: factor * value for position, value in enumerate(coefficients)}
        assert found == {position: value for position, value in expected.items() if value}
