"""What is printed of the dialect's operations is parsed again, and views read what builders have written."""

import re

import pytest
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.definition import DIALECT
from harness.codegen.dialect.verification import verify

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

ATTENTION = """
func.func @attention(%query: tensor<2x3x4xf16>, %key: tensor<2x5x4xf16>, %value: tensor<2x5x6xf16>,
                     %init: tensor<2x3x6xf32>, %row: tensor<2x3xf32>, %mask: tensor<3x5xi8>,
                     %bias: tensor<5xf16>)
    -> tensor<2x3x6xf32> {
  %attention:3 = "attn.attention"(%query, %key, %value, %init, %row, %row, %mask, %bias)
      {scale = 2.500000e-01 : f32, mask_axes = array<i64: 1, 2>, bias_axes = array<i64: 2>,
       operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>}
      : (tensor<2x3x4xf16>, tensor<2x5x4xf16>, tensor<2x5x6xf16>, tensor<2x3x6xf32>, tensor<2x3xf32>,
         tensor<2x3xf32>, tensor<3x5xi8>, tensor<5xf16>)
      -> (tensor<2x3x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return %attention#0 : tensor<2x3x6xf32>
}
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
    "attention": ATTENTION,
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
