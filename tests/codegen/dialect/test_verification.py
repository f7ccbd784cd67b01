"""What is wrong with an operation is said with what was found and what was expected."""

import pytest
from mlir import ir
from mlir.dialects import func

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import VerificationError, verify, verify_operation


def built(types, build):
    """Return a module and the operation that `build` makes of arguments of some types."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("built", ([ir.Type.parse(text) for text in types], []))
        with ir.InsertionPoint(function.add_entry_block()):
            operation = build(*function.arguments)
            func.ReturnOp([])
    return module, operation


def rejection(types, build):
    """Return what the dialect's own verifier says."""
    with mlir_context():
        _module, operation = built(types, build)
        with pytest.raises(VerificationError) as error:
            verify_operation(operation)
    return str(error.value)


def product(layout):
    return lambda *operands: attn.batch_matmul(*operands, layout=layout).operation


def softmax(dimension):
    return lambda *operands: attn.softmax(*operands, dimension=dimension).operation


def diag(*operands):
    return attn.diag(*operands).operation


def mask(visible, dimensions=None):
    """Return a builder of a mask with all indices of a map and its symbols."""

    def build(x, *indices):
        parsed = ir.AffineMapAttr.parse(f"affine_map<{visible}>").value
        return attn.mask(x, parsed, indices, dimensions=dimensions, fill=0.0).operation

    return build


def length_mask(visible, dimensions=None):
    """Return a builder of a mask with all indices of a map, whose symbol is a length."""

    def build(x, lengths, *indices):
        parsed = ir.AffineMapAttr.parse(f"affine_map<{visible}>").value
        return attn.length_mask(x, lengths, parsed, indices, dimensions=dimensions, fill=0.0).operation

    return build


def row_mask(*operands):
    return attn.row_mask(*operands, fill=0.0).operation


@pytest.mark.parametrize(
    ("layout", "shapes", "message"),
    [
        ("nn", "3 3x4 2x4", "lhs has rank 1; expected the product's rank 2, at least 2"),
        ("tn", "5x3 5x4 2x4", "dimension m is 3 in lhs 5×3 but 2 in product 2×4"),
        ("nn", "7x6x2x3 7x5x3x4 7x6x2x4", "dimension batch 1 is 6 in lhs 7×6×2×3 but 5 in rhs 7×5×3×4"),
    ],
)
def test_products(layout, shapes, message):
    types = [f"tensor<{shape}xf32>" for shape in shapes.split()]
    assert rejection(types, product(layout)) == f"attn.batch_matmul in layout {layout}: {message}"


def test_factors_are_no_wider_than_the_product():
    types = ["tensor<2x3xf16>", "tensor<3x4xf64>", "tensor<2x4xf32>"]
    assert "rhs has elements f64; expected f32, the product's, or narrower" in rejection(types, product("nn"))


@pytest.mark.parametrize(
    ("dimension", "shapes", "message"),
    [
        (2, "2x3xf32 2x3xf32 2xf32 2xf32 2xf32", "dimension is 2; expected 0 … 1 for x 2×3"),
        (1, "2x3xf32 2x4xf32 2xf32 2xf32 2xf32", "probability_out is 2×4; expected 2×3, the shape of x"),
        (1, "2x3xf32 2x3xf32 2xf16 2xf16 2xf16", "operands of f32 and f16; expected one element type"),
    ],
)
def test_softmaxes(dimension, shapes, message):
    types = [f"tensor<{shape}>" for shape in shapes.split()]
    assert rejection(types, softmax(dimension)) == f"attn.softmax: {message}"


def attention(axes, scale=0.5):
    def build(*operands):
        bias = attn.ScoreOperand(operands[6], axes) if len(operands) > 6 else None
        return attn.attention(*operands[:6], scale=scale, bias=bias).operation

    return build


@pytest.mark.parametrize(
    ("build", "shapes", "message"),
    [
        (attention(()), "4 5x4 5x6 3x6 3 3", "query has rank 1; expected at least 2"),
        (
            attention(()),
            "3x4 7x4 5x6 3x6 3 3",
            "key is 7×4; expected 5×4, as query 3×4 has, and value's keys",
        ),
        (attention(()), "3x4 5x4 5x6 3x6 5 5", "initial_maximum is 5; expected 3, a number for each query"),
        (attention((), scale=0.0), "3x4 5x4 5x6 3x6 3 3", "scale is 0.0; expected more than 0"),
        (attention((1,)), "3x4 5x4 5x6 3x6 3 3 3", "bias is 3; expected 5, the scores' on its axes"),
    ],
)
def test_attention(build, shapes, message):
    types = [f"tensor<{shape}xf32>" for shape in shapes.split()]
    assert rejection(types, build) == f"attn.attention: {message}"


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (["tensor<f32>", "tensor<f32>"], "x has rank 0; expected at least 1"),
        (
            ["tensor<2x3xf32>", "tensor<2x3x4xf32>"],
            "result is 2×3×4; expected 2×3×3, x's shape, its last size twice",
        ),
    ],
)
def test_diagonal_matrices(types, message):
    assert rejection(types, diag) == f"attn.diag: {message}"


@pytest.mark.parametrize(
    ("indices", "build", "message"),
    [
        (
            1,
            mask("(d0, d1)[s0] -> (d0 - d1 + s0)"),
            "1 index operands; expected 3, one offset for each dimension and one value for each symbol of "
            "(d0, d1)[s0] -> (d0 - d1 + s0)",
        ),
        (2, mask("(d0, d1) -> ()"), "visible is (d0, d1) -> (); expected at least one inequality"),
        (
            2,
            mask("(d0, d1) -> (d0, d1 floordiv 2)"),
            "d1 floordiv 2 is not an integer combination of its dimensions and symbols",
        ),
    ],
)
def test_masks(indices, build, message):
    assert rejection(["tensor<3x4xf32>", *["index"] * indices], build) == f"attn.mask: {message}"


@pytest.mark.parametrize(
    ("types", "build", "message"),
    [
        (
            ["tensor<3xi32>", *["index"] * 2],
            length_mask("(d0, d1) -> (d0)"),
            "visible is (d0, d1) -> (d0); expected one symbol, which is the length",
        ),
        (
            ["tensor<4xi32>", *["index"] * 2],
            length_mask("(d0, d1)[s0] -> (s0 - d1)"),
            "lengths is 4; expected 3, a length for each element along x's first axis",
        ),
    ],
)
def test_masks_of_lengths(types, build, message):
    assert rejection(["tensor<3x4xf32>", *types], build) == f"attn.length_mask: {message}"


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (
            ["tensor<3x4xf32>", "tensor<3xi32>", "tensor<2x3xi32>", "index"],
            "end is 2×3; expected 3, one bound for each row of x",
        ),
    ],
)
def test_masks_of_rows(types, message):
    assert rejection(types, row_mask) == f"attn.row_mask: {message}"


NESTED = """
func.func @f(%x: tensor<2x3xf32>, %y: tensor<5x4xf32>, %init: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%old = %init) -> tensor<2x4xf32> {
    %new = "attn.batch_matmul"(%x, %y, %old) {layout = "nn"}
        : (tensor<2x3xf32>, tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    scf.yield %new : tensor<2x4xf32>
  }
  return %sum : tensor<2x4xf32>
}
"""


def test_operations_inside_of_loops_are_checked():
    with mlir_context():
        module = ir.Module.parse(NESTED)
        for root in (module, module.body.operations[0]):
            with pytest.raises(VerificationError, match="dimension k is 3 in lhs 2×3 but 5 in rhs 5×4"):
                verify(root)
