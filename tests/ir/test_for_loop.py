"""An `scf.for` by the names of its parts."""

import pytest
from mlir import ir

from harness.dialect.context import mlir_context
from harness.ir.constants import constant_float, constant_index
from harness.ir.for_loop import ForLoop, initial_operand
from harness.ir.walk import operations_within, producer_of

TEXT = """
func.func @swap(%end: index) -> (f32, f32) {
  %start = arith.constant 2 : index
  %step = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %r:2 = scf.for %i = %start to %end step %step iter_args(%a = %one, %b = %two) -> (f32, f32) {
    %sum = arith.addf %a, %b : f32
    scf.yield %b, %sum : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}
"""


@pytest.fixture
def loop():
    with mlir_context():
        module = ir.Module.parse(TEXT)
        yield ForLoop(next(op for op in operations_within(module.operation) if op.name == "scf.for"))


def test_the_bounds_are_those_of_the_text(loop: ForLoop) -> None:
    assert (constant_index(loop.lower), constant_index(loop.step)) == (2, 3)
    assert isinstance(loop.upper, ir.BlockArgument)
    assert loop.bounds == [loop.lower, loop.upper, loop.step]


def test_what_is_carried_starts_and_goes_on_in_order(loop: ForLoop) -> None:
    assert [constant_float(value) for value in loop.initial_values] == [1.0, 2.0]
    assert loop.operation.operands[initial_operand(1)] == loop.initial_values[1]
    assert loop.carried == list(loop.body.arguments)[1:]
    assert loop.yielded[0] == loop.carried[1]
    assert loop.position == loop.body.arguments[0]


def test_arguments_of_a_block_have_no_producer(loop: ForLoop) -> None:
    producer = producer_of(loop.yielded[1])
    assert producer is not None
    assert producer.operation.name == "arith.addf"
    assert producer_of(loop.yielded[0]) is None
