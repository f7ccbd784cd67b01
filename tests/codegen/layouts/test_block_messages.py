"""2-D block messages: which layouts they give, what they take at once, and which matrices they can name."""

import pytest
from fragment_tables import assert_placement
from intel_fragments import plain_block, transformed_block, transposed_block
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.distribution.intel.block_messages import Form, Message, form_of, messages
from harness.codegen.layouts.distribution.intel.matrix_in_memory import can_be_named, is_padded_with_zeros
from harness.codegen.layouts.instructions import intel, nvidia
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import Layout, tiled

DPAS = intel.DPAS_F16

PLACEMENTS = {
    Form.PLAIN: plain_block,
    Form.TRANSFORMED: transformed_block,
    Form.TRANSPOSED: transposed_block,
}


@pytest.mark.parametrize(
    ("layout", "element_bytes", "is_packed", "form"),
    [
        (DPAS.a, 2, False, Form.PLAIN),
        (DPAS.c, 4, False, Form.PLAIN),
        (DPAS.b.transposed(), 2, True, Form.TRANSFORMED),
        (DPAS.b, 2, True, Form.TRANSPOSED),
    ],
    ids=["A", "C", "B of rows along k", "B of rows along n"],
)
def test_a_message_gives_each_operand_of_dpas(
    layout: Layout, element_bytes: int, is_packed: bool, form: Form
) -> None:
    assert form_of(layout, element_bytes, is_packed=is_packed) is form
    found = {(place.lane, place.register): layout.coordinates(place) for place in layout.places()}
    rows, columns = layout.shape
    assert_placement(
        found,
        PLACEMENTS[form],
        rows=rows,
        columns=columns,
        lanes=16,
        elements=layout.registers,
        source="SPV_INTEL_2d_block_io",
    )


@pytest.mark.parametrize(
    ("layout", "element_bytes"),
    [
        (DPAS.b.transposed(), 4),  # words are not packed
        (DPAS.a, 1),
        (DPAS.c.slice(1), 4),  # a row statistic
        (nvidia.M16N8K16_F16.a, 2),
        (instruction("wmma.gfx12.f32.16x16x16.f16").a, 2),
        (DPAS.c.transposed(), 8),
    ],
)
def test_other_layouts_have_no_message(layout: Layout, element_bytes: int) -> None:
    assert form_of(layout, element_bytes, is_packed=layout.registers == 16) is None


def test_neighbours_along_a_row_share_a_message() -> None:
    tile = tiled(DPAS.a, (2, 4), (8, 1))
    assert messages(tile, blocks=2) == (
        Message((0, 1), 0, 0),
        Message((2, 3), 0, 32),
        Message((4, 5), 8, 0),
        Message((6, 7), 8, 32),
    )


def test_fragments_of_an_operand_below_each_other_have_one_each() -> None:
    tile = tiled(DPAS.b, (2, 2))
    assert [message.fragments for message in messages(tile, blocks=1)] == [(0,), (1,), (2,), (3,)]
    assert [(message.row, message.column) for message in messages(tile, blocks=1)] == [
        (0, 0), (0, 16), (16, 0), (16, 16),
    ]  # fmt: skip


READ = """
func.func @kernel(%buffer: memref<{shape}>, %at: index) -> vector<16x16x{element}> {{
  %zero = arith.constant 0 : index
  %padding = arith.constant {padding} : {element}
  %start = arith.constant {column} : index
  %tile = vector.transfer_read %buffer[{outer}%at, %start], %padding {{in_bounds = [{rows}, true]}}
    : memref<{shape}>, vector<16x16x{element}>
  return %tile : vector<16x16x{element}>
}}
"""


SIDE_BY_SIDE = """
func.func @kernel(%buffer: memref<128x8x64xf16>, %at: index) -> vector<16x16xf16> {{
  %head = arith.constant 3 : index
  %padding = arith.constant 0.0 : f16
  %start = arith.constant {column} : index
  %heads = memref.transpose %buffer (token, head, width) -> (head, token, width)
    : memref<128x8x64xf16> to memref<8x128x64xf16, strided<[64, 512, 1]>>
  %tile = vector.transfer_read %heads[%head, %at, %start], %padding {{in_bounds = [true, true]}}
    : memref<8x128x64xf16, strided<[64, 512, 1]>>, vector<16x16xf16>
  return %tile : vector<16x16xf16>
}}
"""


def read_of(shape: str, column: int = 0, padding: str = "0.0", rows: str = "true") -> str:
    element = shape.rsplit("x", 1)[1]
    outer = "%zero, " * (shape.count("x") - 2)
    return READ.format(shape=shape, element=element, outer=outer, column=column, padding=padding, rows=rows)


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        (read_of("2x3x333x64xf16"), True),
        (read_of("333x64xbf16"), True),
        (read_of("64x333xf32"), False),  # rows 1332 bytes apart, not a multiple of 16
        (read_of("64x336xf32"), True),
        (read_of("64x24xf16"), False),  # 48 bytes; at least 64
        (read_of("64x32xf16"), True),
        (read_of("64x64xf16", column=15), False),  # begins within a word
        (read_of("64x64xf16", column=18), True),
        (read_of("64x16777216xf16"), False),
        (read_of("32768x512x64xf16"), True),
        (read_of("32768x513x64xf16"), False),  # more than 2²⁴ rows
        (SIDE_BY_SIDE.format(column=16), True),
        (SIDE_BY_SIDE.format(column=17), False),  # begins within a word of its head
    ],
)
def test_a_matrix_is_named_where_the_restrictions_of_messages_hold(text: str, is_named: bool) -> None:
    with mlir_context():
        module = ir.Module.parse(text)
        (read,) = (op for op in operations_within(module.operation) if op.name == "vector.transfer_read")
        assert can_be_named(read, 1) is is_named


@pytest.mark.parametrize(
    ("padding", "rows", "is_zero"),
    [("0.0", "false", True), ("1.0", "true", True), ("1.0", "false", False), ("-1.0e+30", "false", False)],
)
def test_what_is_out_of_bounds_has_to_be_zero(padding: str, rows: str, is_zero: bool) -> None:
    with mlir_context():
        module = ir.Module.parse(read_of("2x64x64xf16", padding=padding, rows=rows))
        (read,) = (op for op in operations_within(module.operation) if op.name == "vector.transfer_read")
        assert is_padded_with_zeros(read) is is_zero
