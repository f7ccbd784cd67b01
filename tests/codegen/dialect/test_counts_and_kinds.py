"""Counts and kinds of operands, results and attributes are checked by MLIR, from the dialect's definition."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context

MATRIX, ROW, BOUNDS = "tensor<4x4xf32>", "tensor<4xf32>", "tensor<4xi32>"
SOFTMAX = "dimension = 1 : i64, scale = 1.0 : f32"
MASK = "visible = affine_map<(d0, d1) -> (d0)>, dimensions = array<i64: 0, 1>, fill = 0.0 : f32"


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "results", "message"),
    [
        ("batch_matmul", [MATRIX] * 3, 'layout = "xy"', [MATRIX], "'\"xy\"' does not satisfy the constraint"),
        ("batch_matmul", [MATRIX] * 2, 'layout = "nn"', [MATRIX], "expects exactly 3 operands, but got 2"),
        (
            "softmax",
            [MATRIX, MATRIX, ROW, ROW, ROW],
            SOFTMAX,
            [MATRIX, ROW, ROW],
            "exactly 4 results, but got 3",
        ),
        (
            "unnormalized_softmax",
            [MATRIX, MATRIX, ROW, ROW, ROW],
            SOFTMAX,
            [MATRIX, ROW, ROW, MATRIX],
            "expected 'tensor<4xf32>' but got 'tensor<4x4xf32>'",
        ),
        ("diag", [ROW, MATRIX], "", [ROW], "expected 'tensor<4x4xf32>' but got 'tensor<4xf32>'"),
        ("mask", [MATRIX, "index", "i32"], MASK, [MATRIX], "expected 'index' but got 'i32'"),
        ("row_mask", [MATRIX, BOUNDS, BOUNDS, "index"], "", [MATRIX], 'attribute "fill" is expected'),
        ("length_mask", [MATRIX, "i32", "index"], MASK, [MATRIX], "expected base type 'builtin.tensor'"),
        ("unheard_of", [MATRIX], "", [MATRIX], "unregistered operation 'attn.unheard_of' found in dialect"),
    ],
)
def test_what_does_not_fit_the_definition_is_not_parsed(name, operands, attributes, results, message):
    arguments = ", ".join(f"%{number}: {type_}" for number, type_ in enumerate(operands))
    values = ", ".join(f"%{number}" for number in range(len(operands)))
    text = f"""
    func.func @f({arguments}) {{
      %results:{len(results)} = "attn.{name}"({values}) {{{attributes}}}
          : ({", ".join(operands)}) -> ({", ".join(results)})
      return
    }}
    """
    with mlir_context(), pytest.raises(ir.MLIRError) as error:
        ir.Module.parse(text)
    assert message in str(error.value)
