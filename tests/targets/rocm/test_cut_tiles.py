"""Loops over tiles that a mask cuts are annotated beside loops over whole tiles, and nothing else is."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
from harness.targets.rocm.cut_tiles import (
    IN_LLVM_IR,
    OF_LOOP,
    has_loops_over_cut_tiles,
    mark_loops_over_cut_tiles,
    without_annotations,
)

WHOLE = "%next = arith.addf %sum, %x : f32"
CUT = """
  %is_seen = arith.cmpi slt, %i, %rows : index
  %visible = arith.select %is_seen, %x, %zero : f32
  %next = arith.addf %sum, %visible : f32
"""


def loops(bodies: list[str], *, goes_on: bool) -> list[bool]:
    """Return for each of some loops whether it was marked; each goes on with the sum of the one before it."""
    text = ""
    for number, body in enumerate(bodies):
        first = f"%sum{number - 1}" if goes_on and number else "%zero"
        text += f"""
          %sum{number} = scf.for %i = %start to %rows step %one iter_args(%sum = {first}) -> (f32) {{
            {body}
            scf.yield %next : f32
          }}"""
    with mlir_context():
        module = ir.Module.parse(f"""
        func.func @sum(%x: f32, %start: index, %rows: index, %one: index) {{
          %zero = arith.constant 0.0 : f32
          {text}
          return
        }}""")
        mark_loops_over_cut_tiles(module)
        found = [op for op in operations_within(module.operation) if op.name == "scf.for"]
        return [OF_LOOP in loop.operation.attributes for loop in found]


@pytest.mark.parametrize(
    ("bodies", "marked"),
    [
        ([WHOLE, CUT], [False, True]),
        ([CUT, WHOLE, CUT], [True, False, True]),
        ([CUT], [False]),
        ([WHOLE, WHOLE], [False, False]),
    ],
)
def test_loops_that_do_more_than_their_neighbours_are_marked(bodies: list[str], marked: list[bool]) -> None:
    assert loops(bodies, goes_on=True) == marked


def test_loops_of_their_own_are_not() -> None:
    assert loops([WHOLE, CUT], goes_on=False) == [False, False]


def test_the_annotation_can_be_left_out() -> None:
    llvm_ir = f"!1 = !{{!{IN_LLVM_IR}}}"
    assert has_loops_over_cut_tiles(llvm_ir)
    assert not has_loops_over_cut_tiles(without_annotations(llvm_ir))
