"""What simplifications must leave alone."""

import pytest
from mlir import ir
from payloads.ir_checks import check_ir

from harness.dialect.context import mlir_context
from harness.dialect.verification import verify
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.simplifications import (
    decompose_all_pads,
    erase_unused,
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


def test_different_expressions_of_the_same_values_stay():
    text = """
    func.func @f(%n: index, %m: index) -> (index, index, index, index, index) {
      %a = affine.min affine_map<(d0, d1) -> (d0, d1)>(%n, %m)
      %b = affine.max affine_map<(d0, d1) -> (d0, d1)>(%n, %m)
      %c = affine.min affine_map<(d0, d1) -> (d0, d1)>(%m, %n)
      %d = affine.min affine_map<(d0, d1) -> (d0, d1 + 1)>(%n, %m)
      %e = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%n, %m)
      return %a, %b, %c, %d, %e : index, index, index, index, index
    }
    """
    with mlir_context():
        module = ir.Module.parse(text)
        assert merge_index_arithmetic(module) == 0


def test_unused_operations_of_one_function_are_erased_without_touching_others():
    text = "func.func @{name}(%x: index) {{ %unused = arith.addi %x, %x : index return }}"
    with mlir_context():
        module = ir.Module.parse("\n".join(text.format(name=name) for name in ("first", "second")))
        erase_unused(module.body.operations[0])
        check_ir(
            module,
            """
            CHECK: @first
            CHECK-NOT: arith.addi
            CHECK: @second
            CHECK: arith.addi
            """,
        )


def test_padding_that_depends_on_the_position_is_not_decomposed():
    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<4xf32> {
      %padded = tensor.pad %x low[1] high[1] {
      ^bb0(%i: index):
        %integer = arith.index_cast %i : index to i32
        %value = arith.sitofp %integer : i32 to f32
        tensor.yield %value : f32
      } : tensor<2xf32> to tensor<4xf32>
      return %padded : tensor<4xf32>
    }
    """
    with mlir_context():
        module = ir.Module.parse(text)
        with pytest.raises(RewriteRefusedError, match="pads with values that depend on the position"):
            decompose_all_pads(module)
