"""What divides an index, from how it is computed; and that it does, for whatever the unknown parts are."""

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.divisors import known_divisor, of_expression

BODY = """
func.func @f(%any: index, %condition: i1) {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %twelves = arith.muli %any, %c12 : index
  scf.for %position = %c8 to %any step %c12 {{
    %found = {operation}
    "test.use"(%found) : (index) -> ()
  }}
  return
}}"""


def divisor_of(operation: str) -> int:
    """Return what divides the result of an operation in the loop of `BODY`."""
    with mlir_context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(BODY.format(operation=operation))
        function = module.body.operations[0]
        loop = next(op for op in function.regions[0].blocks[0].operations if op.operation.name == "scf.for")
        *_, use, _ = loop.regions[0].blocks[0].operations
        return known_divisor(use.operation.operands[0])


@pytest.mark.parametrize(
    ("operation", "divisor"),
    [
        ("arith.constant 24 : index", 24),
        ("arith.constant 0 : index", 0),
        ("arith.addi %any, %c0 : index", 1),
        ("arith.addi %position, %c0 : index", 4),
        ("arith.addi %twelves, %c8 : index", 4),
        ("arith.subi %c12, %c12 : index", 12),
        ("arith.muli %twelves, %c8 : index", 96),
        ("arith.minsi %twelves, %c8 : index", 4),
        ("arith.select %condition, %twelves, %c12 : index", 12),
        ("arith.remui %twelves, %c12 : index", 1),
        ("affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%twelves)[%c8]", 8),
        ("affine.apply affine_map<(d0) -> (d0 mod 18)>(%twelves)", 6),
        ("affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%twelves)", 3),
        ("affine.apply affine_map<(d0) -> (d0 floordiv 5)>(%twelves)", 1),
        ("affine.min affine_map<(d0) -> (d0, 20)>(%twelves)", 4),
        ("affine.max affine_map<(d0) -> (d0, 0)>(%twelves)", 12),
    ],
)
def test_what_divides_an_index_follows_from_how_it_is_computed(operation: str, divisor: int) -> None:
    assert divisor_of(operation) == divisor


Expression = tuple[str, Callable[[dict[str, int]], int]]
"""An affine expression's text, and its value at those of its dimensions and symbols."""

DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "mod": operator.mod,
    "floordiv": operator.floordiv,
    "ceildiv": lambda left, right: -(-left // right),
}


def named(name: str) -> Expression:
    return name, lambda values: values[name]


def number(value: int) -> Expression:
    return str(value), lambda values: value


def total(left: Expression, right: Expression) -> Expression:
    return f"({left[0]} + {right[0]})", lambda values: left[1](values) + right[1](values)


def product(left: Expression, factor: int) -> Expression:
    return f"({left[0]} * {factor})", lambda values: left[1](values) * factor


def division(left: Expression, kind: str, by: int) -> Expression:
    return f"({left[0]} {kind} {by})", lambda values: DIVISIONS[kind](left[1](values), by)


EXPRESSIONS = st.recursive(
    st.sampled_from(["d0", "d1", "s0"]).map(named) | st.integers(0, 40).map(number),
    lambda inner: st.one_of(
        st.builds(total, inner, inner),
        st.builds(product, inner, st.integers(0, 9)),
        st.builds(division, inner, st.sampled_from(list(DIVISIONS)), st.integers(1, 9)),
    ),
    max_leaves=6,
)
THREE_NUMBERS = st.tuples(*[st.integers(0, 12)] * 3)


@given(EXPRESSIONS, THREE_NUMBERS, THREE_NUMBERS)
def test_what_is_said_to_divide_an_expression_does(
    expression: Expression, divisors: tuple[int, ...], factors: tuple[int, ...]
) -> None:
    text, evaluate = expression
    names = ("d0", "d1", "s0")
    values = dict(zip(names, map(operator.mul, divisors, factors), strict=True))
    with mlir_context():
        mapping = ir.AffineMapAttr.parse(f"affine_map<(d0, d1)[s0] -> ({text})>").value
        divisor = of_expression(mapping.results[0], divisors, mapping.n_dims)
    assert evaluate(values) % divisor == 0 if divisor else evaluate(values) == 0
