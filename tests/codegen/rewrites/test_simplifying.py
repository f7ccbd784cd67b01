"""What simplifications must leave alone."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.rewrites.simplifications import (
    merge_index_arithmetic,
    write_into_place,
)

DOUBLED = """linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%element: f32, %old: f32):
    %new = arith.addf %element, %element : f32
    linalg.yield %new : f32
  } -> tensor<8xf32>"""


def copied(source: str, place: str) -> str:
    return f"""linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins({source} : tensor<8xf32>) outs({place} : tensor<8xf32>) {{
  ^bb0(%element: f32, %old: f32):
    linalg.yield %element : f32
  }} -> tensor<8xf32>"""


TO_PLACE = f"%copy = {copied('%doubled', '%out')}\n return %copy, %copy : tensor<8xf32>, tensor<8xf32>"
TWO_USES = f"%copy = {copied('%doubled', '%out')}\n return %copy, %doubled : tensor<8xf32>, tensor<8xf32>"
TO_COMPUTED = f"%copy = {copied('%doubled', '%filled')}\n return %copy, %copy : tensor<8xf32>, tensor<8xf32>"
OF_ARGUMENT = f"%copy = {copied('%x', '%out')}\n return %copy, %doubled : tensor<8xf32>, tensor<8xf32>"
IN_LOOP = f"""
  %loop = scf.for %i = %c0 to %c1 step %c1 iter_args(%place = %out) -> tensor<8xf32> {{
    %copy = {copied("%doubled", "%place")}
    scf.yield %copy : tensor<8xf32>
  }}
  return %loop, %loop : tensor<8xf32>, tensor<8xf32>
"""


@pytest.mark.parametrize(
    ("end", "count"),
    [(TO_PLACE, 1), (TWO_USES, 0), (TO_COMPUTED, 0), (OF_ARGUMENT, 0), (IN_LOOP, 0)],
    ids=["to an argument", "used twice", "to something computed", "of an argument", "to what a loop carries"],
)
def test_only_what_is_copied_to_an_argument_is_written_there(end, count):
    text = f"""
    #id = affine_map<(d0) -> (d0)>
    func.func @f(%x: tensor<8xf32>, %out: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<8xf32>
      %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      %doubled = {DOUBLED}
      {end}
    }}
    """
    with mlir_context():
        module = ir.Module.parse(text)
        before = str(module)
        assert write_into_place(module) == count
        verify(module)
        assert (str(module) == before) == (count == 0)


def test_loops_with_the_same_bounds_keep_their_own_index_arithmetic():
    """Neither of two loops, nor of a loop and what is around it, is executed with the other."""
    loop = """scf.for %i = %c0 to %n step %c1 iter_args(%old = %c0) -> index {
      %inside = affine.apply #next(%n)
      %again = affine.apply #next(%n)
      %sum = arith.addi %inside, %again : index
      scf.yield %sum : index
    }"""
    text = f"""
    #next = affine_map<(d0) -> (d0 + 1)>
    func.func @f(%n: index) -> (index, index, index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %first = {loop}
      %second = {loop}
      %outside = affine.apply #next(%n)
      return %first, %second, %outside : index, index, index
    }}
    """
    with mlir_context():
        module = ir.Module.parse(text)
        assert merge_index_arithmetic(module) == 2
        verify(module)
        assert str(module).count("affine.apply") == 3
