"""Transfers of parts that loops take index the whole buffer where it ends with the part."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.targets.lowering.whole_buffers import index_whole_buffers

KERNEL = """
func.func @kernel(%in: memref<2x5x64xf32>, %out: memref<2x5x64xf32>, %b: index, %i: index) {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c16 {{
    %part = memref.subview %in[%b, {offset}, %k] [1, {rows}, 16] [1, 1, 1]
        : memref<2x5x64xf32> to memref<{rows}x16xf32, strided<[64, 1], offset: ?>>
    %tile = vector.transfer_read %part[%i, %c0], %zero {{in_bounds = [{in_bounds}, true]}}
        : memref<{rows}x16xf32, strided<[64, 1], offset: ?>>, vector<8x16xf32>
    %place = memref.subview %out[%b, {offset}, %k] [1, {rows}, 16] [1, 1, 1]
        : memref<2x5x64xf32> to memref<{rows}x16xf32, strided<[64, 1], offset: ?>>
    vector.transfer_write %tile, %place[%i, %c0] {{in_bounds = [{in_bounds}, true]}}
        : vector<8x16xf32>, memref<{rows}x16xf32, strided<[64, 1], offset: ?>>
  }}
  return
}}
"""


def rewritten(offset: int, rows: int, in_bounds: str) -> str:
    with mlir_context():
        module = ir.Module.parse(KERNEL.format(offset=offset, rows=rows, in_bounds=in_bounds))
        index_whole_buffers(module.body.operations[0])
        module.operation.verify()
        return str(module)


@pytest.mark.parametrize(("offset", "rows"), [(0, 5), (2, 3)])
def test_a_part_that_ends_with_the_buffer_is_left_out(offset: int, rows: int) -> None:
    text = rewritten(offset, rows, "false")
    assert "transfer_read %arg0[%arg2, " in text
    assert "transfer_write %" in text.split("transfer_read")[1]
    assert ", %arg1[%arg2, " in text
    assert text.count("in_bounds = [false, true]") == 2


def test_a_part_that_ends_before_the_buffer_stays() -> None:
    text = rewritten(0, 3, "false")
    assert "transfer_read %subview" in text
    assert "transfer_write" in text
    assert "%arg0[%arg2" not in text.replace("subview %arg0[%arg2", "")


def test_a_tile_within_its_part_may_index_the_buffer() -> None:
    assert "transfer_read %arg0[%arg2, " in rewritten(0, 3, "true")
