"""The layouts of dpas's operands, against the instruction set, CUTLASS and MLIR's own distribution."""

import re

import pytest
from fragment_tables import Placement, assert_layout
from intel_fragments import CUTLASS, SPIRV
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.layouts.conversion import Conflict, convert
from harness.codegen.layouts.instructions import intel
from harness.codegen.layouts.layout import Layout, tiled
from harness.codegen.layouts.matrix_instruction import MatrixInstruction
from harness.targets.lowering.transforms import run_passes

every_instruction = pytest.mark.parametrize("known", intel.INSTRUCTIONS, ids=lambda known: known.name)
every_operand = pytest.mark.parametrize("letter", "ABC")

PRODUCT = """
gpu.module @kernels {{
  gpu.func @product(%a: memref<8x16x{0}>, %b: memref<16x16x{0}>, %c: memref<8x16xf32>) {{
    %zero = arith.constant 0 : index
    %a_desc = xegpu.create_nd_tdesc %a : memref<8x16x{0}> -> !xegpu.tensor_desc<8x16x{0}>
    %b_desc = xegpu.create_nd_tdesc %b : memref<16x16x{0}> -> !xegpu.tensor_desc<16x16x{0}>
    %c_desc = xegpu.create_nd_tdesc %c : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>
    %a_held = xegpu.load_nd %a_desc[%zero, %zero] : !xegpu.tensor_desc<8x16x{0}> -> vector<8x16x{0}>
    %b_held = xegpu.load_nd %b_desc[%zero, %zero] : !xegpu.tensor_desc<16x16x{0}> -> vector<16x16x{0}>
    %c_held = xegpu.load_nd %c_desc[%zero, %zero] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
    %d = xegpu.dpas %a_held, %b_held, %c_held
      : vector<8x16x{0}>, vector<16x16x{0}>, vector<8x16xf32> -> vector<8x16xf32>
    xegpu.store_nd %d, %c_desc[%zero, %zero] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
    gpu.return
  }}
}}
"""
"""A product of a whole sub-group, k×n for B, of which MLIR decides what a lane has."""


def as_multiplied(known: MatrixInstruction, letter: str) -> Layout:
    """Return the layout of an operand as it is written in a product: B is k×n."""
    layout = known.operand_layout(letter)
    return layout.transposed() if letter == "B" else layout


def mlir_placement(shape: tuple[int, int], lane_layout: list[int], lane_data: list[int]) -> Placement:
    """Return what XeGPU's attribute `layout` says: blocks of `lane_data`, dealt to lanes row by row."""

    def place(lane: int, element: int) -> tuple[int, int]:
        height, width = lane_data
        block, within = divmod(element, height * width)
        lane_row, lane_column = divmod(lane, lane_layout[1])
        blocks_across = shape[1] // (lane_layout[1] * width)
        block_row, block_column = divmod(block, blocks_across)
        row = (block_row * lane_layout[0] + lane_row) * height + within // width
        return row, (block_column * lane_layout[1] + lane_column) * width + within % width

    return place


@every_instruction
@every_operand
def test_operands_lie_as_in_the_instruction_set(known: MatrixInstruction, letter: str) -> None:
    assert_layout(as_multiplied(known, letter), SPIRV[letter], intel.LANES, known.source)


@every_instruction
@every_operand
def test_operands_lie_as_in_cutlass(known: MatrixInstruction, letter: str) -> None:
    assert_layout(known.operand_layout(letter), CUTLASS[letter].placement(), intel.LANES, "CUTLASS")


@every_instruction
@every_operand
def test_operands_lie_as_mlir_distributes_them(known: MatrixInstruction, letter: str) -> None:
    with mlir_context():
        module = ir.Module.parse(PRODUCT.format(known.operand))
        run_passes(module, "xevm-attach-target{chip=bmg}")
        run_passes(module, "gpu.module(xegpu-propagate-layout{layout-kind=lane})")
        text = str(module)
    name = {"A": "layout_a", "B": "layout_b", "C": "layout_cd"}[letter]
    found = re.search(rf"{name} = #xegpu.layout<lane_layout = \[(.*?)\], lane_data = \[(.*?)\]>", text)
    assert found is not None
    lane_layout, lane_data = ([int(number) for number in group.split(",")] for group in found.groups())
    layout = as_multiplied(known, letter)
    assert_layout(layout, mlir_placement(layout.shape, lane_layout, lane_data), intel.LANES, "MLIR")


@every_instruction
def test_a_result_is_the_next_operand_without_a_move(known: MatrixInstruction) -> None:
    assert known.c.is_equivalent(known.a)
    found = convert(tiled(known.c, (2, 4)), tiled(known.a, (2, 4)))
    assert found.conflict is Conflict.NONE
