"""What is printed of the dialect's operations is parsed again, and views read what builders have written."""

import math
import re

import pytest
from mlir import ir
from mlir.dialects import func

from harness.dialect import operations as attn
from harness.dialect.context import mlir_context
from harness.dialect.definition import DIALECT
from harness.dialect.verification import verify

PRODUCT = """
func.func @product({lhs}, {rhs}, %init: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {{
  %product = "attn.batch_matmul"(%lhs, %rhs, %init) {{layout = "{layout}"}}
      : ({types}, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %product : tensor<2x3x4xf32>
}}
"""

SOFTMAX = """
func.func @softmax(%x: tensor<?x5xf32>, %row: tensor<?xf32>) -> (tensor<?x5xf32>, tensor<?xf32>) {{
  %softmax:4 = "{name}"(%x, %x, %row, %row, %row) {{dimension = 1 : i64, scale = 2.500000e-01 : f32}}
      : (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
      -> (tensor<?x5xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
  return %softmax#0, %softmax#3 : tensor<?x5xf32>, tensor<?xf32>
}}
"""

DIAG = """
func.func @diag(%x: tensor<2x3xf64>, %out: tensor<2x3x3xf64>) -> tensor<2x3x3xf64> {
  %matrix = "attn.diag"(%x, %out) : (tensor<2x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  return %matrix : tensor<2x3x3xf64>
}
"""

MASK = """
func.func @mask(%x: tensor<3x4xf32>, %head: index, %row: index, %column: index, %shift: index)
    -> tensor<3x4xf32> {
  %masked = "attn.mask"(%x, %head, %row, %column, %shift)
      {visible = affine_map<(d0, d1, d2)[s0] -> (d1 - d2 + s0, d2)>, dimensions = array<i64: 1, 2>,
       fill = 0xFF800000 : f32}
      : (tensor<3x4xf32>, index, index, index, index) -> tensor<3x4xf32>
  return %masked : tensor<3x4xf32>
}
"""

LENGTH_MASK = """
func.func @length_mask(%x: tensor<2x3x4xf32>, %lengths: tensor<2xi32>, %entry: index, %row: index,
                       %column: index) -> tensor<2x3x4xf32> {
  %masked = "attn.length_mask"(%x, %lengths, %entry, %row, %column)
      {visible = affine_map<(d0, d1, d2)[s0] -> (-d2 + s0 - 1, d1 - d2 + s0)>,
       dimensions = array<i64: 0, 1, 2>, fill = 0xFF800000 : f32}
      : (tensor<2x3x4xf32>, tensor<2xi32>, index, index, index) -> tensor<2x3x4xf32>
  return %masked : tensor<2x3x4xf32>
}
"""

ROW_MASK = """
func.func @row_mask(%x: tensor<2x?x4xf16>, %first: tensor<?xi32>, %end: tensor<?xi32>, %offset: index)
    -> tensor<2x?x4xf16> {
  %masked = "attn.row_mask"(%x, %first, %end, %offset) {fill = -1.000000e+00 : f16}
      : (tensor<2x?x4xf16>, tensor<?xi32>, tensor<?xi32>, index) -> tensor<2x?x4xf16>
  return %masked : tensor<2x?x4xf16>
}
"""

FACTORS = {
    "nn": ("tensor<2x3x5xf16>", "tensor<2x5x4xf16>"),
    "nt": ("tensor<2x3x5xf16>", "tensor<2x4x5xf16>"),
    "tn": ("tensor<2x5x3xf16>", "tensor<2x5x4xf16>"),
    "tt": ("tensor<2x5x3xf16>", "tensor<2x4x5xf16>"),
}


def product(layout):
    lhs, rhs = FACTORS[layout]
    return PRODUCT.format(lhs=f"%lhs: {lhs}", rhs=f"%rhs: {rhs}", types=f"{lhs}, {rhs}", layout=layout)


TEXTS = {
    **{f"batch_matmul-{layout}": product(layout) for layout in attn.LAYOUTS},
    **{name.removeprefix("attn."): SOFTMAX.format(name=name) for name in attn.SOFTMAX_NAMES},
    "diag": DIAG,
    "mask": MASK,
    "length_mask": LENGTH_MASK,
    "row_mask": ROW_MASK,
}


def parsed_operation(text):
    """Return the first operation of the function in a text, with the module that owns it."""
    module = ir.Module.parse(text)
    verify(module)
    return module, module.body.operations[0].regions[0].blocks[0].operations[0]


@pytest.mark.parametrize("name", TEXTS)
def test_printed_operations_are_parsed_again(name):
    with mlir_context():
        module, operation = parsed_operation(TEXTS[name])
        assert operation.name == "attn." + name.partition("-")[0]
        printed = str(module)
        again, same = parsed_operation(printed)
        assert str(again) == printed
        assert dict(same.attributes.items()) == dict(operation.attributes.items())
        assert [result.type for result in same.results] == [result.type for result in operation.results]


def test_every_operation_of_the_dialect_is_among_them():
    defined = re.findall(r"irdl\.operation @(\w+)", DIALECT)
    assert {name.partition("-")[0] for name in TEXTS} == set(defined)


@pytest.mark.parametrize("normalized", [True, False])
def test_a_softmax_is_read_as_it_was_built(normalized):
    def build(*operands):
        return attn.softmax(*operands, dimension=1, scale=0.25, normalized=normalized)

    types = ["tensor<3x5xf32>", "tensor<3x5xf32>", *["tensor<3xf32>"] * 3]
    with mlir_context():
        module, view = built(build, types)
        arguments = list(module.body.operations[0].arguments)
        assert view.is_normalized is normalized
        assert (view.dimension, view.scale) == (1, 0.25)
        assert arguments == [
            view.x,
            view.probability_out,
            view.initial_maximum,
            view.initial_total,
            view.correction_out,
        ]
        assert list(view.operation.results) == [view.probability, view.maximum, view.total, view.correction]


def test_a_mask_is_read_as_it_was_built():
    with mlir_context():
        row, column = ir.AffineDimExpr.get(1), ir.AffineDimExpr.get(2)
        visible = ir.AffineMap.get(3, 1, [row - column + ir.AffineSymbolExpr.get(0)])

        def build(x, *indices):
            return attn.mask(x, visible, indices[:3], indices[3:], dimensions=[1, 2], fill=-math.inf)

        module, view = built(build, ["tensor<3x4xf32>", *["index"] * 4])
        arguments = list(module.body.operations[0].arguments)
        assert (view.dimensions, view.fill, view.visible) == ((1, 2), -math.inf, visible)
        assert (view.offsets, view.symbols) == (arguments[1:4], arguments[4:])


def test_a_mask_of_rows_is_read_as_it_was_built():
    types = ["tensor<2x3x4xf32>", "tensor<3xi32>", "tensor<3xi32>", "index"]
    with mlir_context():
        module, view = built(lambda *operands: attn.row_mask(*operands, fill=-1.0), types)
        arguments = list(module.body.operations[0].arguments)
        assert [view.x, view.first, view.end, view.offset] == arguments
        assert view.fill == -1.0


def built(build, types):
    """Return a module with what `build` makes of arguments of some types, checked, and its view."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("built", ([ir.Type.parse(text) for text in types], []))
        with ir.InsertionPoint(function.add_entry_block()):
            view = build(*function.arguments)
            func.ReturnOp([])
    verify(module)
    return module, view
