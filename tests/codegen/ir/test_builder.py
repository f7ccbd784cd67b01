import numpy as np
import pytest
from codegen.payloads.ir_checks import check_ir
from codegen.rewrites.execution import execute
from mlir import ir
from mlir.dialects import arith, func

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b


@pytest.fixture(autouse=True)
def context():
    with mlir_context():
        yield


def function(build, *shapes):
    """Return a module whose function `f` has one f32 tensor argument per shape and the result of `build`."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        func.FuncOp.from_py_func(*[b.tensor_type(shape, "f32") for shape in shapes], name="f")(build)
    assert module.operation.verify()
    return module


def product(x, y, z):
    return arith.addf(arith.mulf(x, y), z)


def test_subscripts_become_indexing_maps_and_iterators():
    module = function(
        lambda x, y: b.structured("ab,cb->ac", [x, y], b.filled(0.0, [2, 4]), product), [2, 3], [4, 3]
    )
    check_ir(
        module,
        """
        CHECK-DAG: [[LEFT:#.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
        CHECK-DAG: [[RIGHT:#.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
        CHECK-DAG: [[RESULT:#.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
        CHECK: linalg.generic
        CHECK-SAME: indexing_maps = [[[LEFT]], [[RIGHT]], [[RESULT]]]
        CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
        """,
    )


def test_body_gets_the_initial_contents_on_request():
    module = function(
        lambda x, y: b.structured(
            "a->ab", [x], y, lambda scalar, old: arith.subf(old, scalar), takes_init=True
        ),
        [2],
        [2, 3],
    )
    x = np.array([1, 2], np.float32)
    y = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(execute(module, [x, y], "f")[0], y - x[:, None])


def test_loop_index_is_the_position_in_the_result():
    def build(x):
        def body(_element):
            number = arith.addi(arith.muli(b.loop_index(0), b.integer(10)), b.loop_index(1))
            return arith.sitofp(ir.F32Type.get(), number)

        return b.structured("ab->ba", [x], b.empty([3, 2]), body)

    (output,) = execute(function(build, [2, 3]), [np.zeros((2, 3))], "f")
    np.testing.assert_array_equal(output, [[0, 1], [10, 11], [20, 21]])


def test_slices_keep_the_dimensions_asked_for():
    def build(x):
        position = b.index(1)
        tile = b.slice_of(x, [position, 0, 2], [1, 2, 1], keep=[1, 2])
        return b.insert(tile, x, [0, 0, position], [1, 2, 1])

    check_ir(
        function(build, [2, 2, 3]),
        r"""
        CHECK: func.func @f([[X:%.*]]: tensor<2x2x3xf32>)
        CHECK: [[ONE:%.*]] = arith.constant 1 : index
        CHECK: [[TILE:%.*]] = tensor.extract_slice [[X]]{{\[}}[[ONE]], 0, 2] [1, 2, 1] [1, 1, 1]
        CHECK-SAME: to tensor<2x1xf32>
        CHECK: tensor.insert_slice [[TILE]] into [[X]][0, 0, [[ONE]]] [1, 2, 1] [1, 1, 1]
        """,
    )
