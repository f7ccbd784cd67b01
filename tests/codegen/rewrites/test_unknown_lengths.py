"""Tiling where only a call tells how large tensors are."""

from collections.abc import Callable

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention
from codegen.rewrites.execution import add_caller, close, execute, within
from mlir import ir
from mlir.dialects import func

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.places import resolve_sizes
from harness.codegen.rewrites.structured import view_of
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

WIDTH, WIDTH_V = 3, 4
UNKNOWN = ir.ShapedType.get_dynamic_size()


def attention(rows: int = UNKNOWN) -> ir.Module:
    """Return `@attention` of so many rows, or of any number, and of any number of keys."""
    shapes = [(rows, WIDTH), (UNKNOWN, WIDTH), (UNKNOWN, WIDTH_V), (rows, WIDTH_V)]
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        types = [b.tensor_type(shape, "f64") for shape in shapes]
        function = func.FuncOp("attention", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            *given, place = function.arguments
            output = Attention().build(*given).output
            func.ReturnOp([b.structured("qe->qe", [output], place, lambda element: element)])
    verify(module)
    return module


def computed(tile: Callable[[ir.Module], None], queries: int, keys: int, rows: int = UNKNOWN) -> None:
    """Check what a tiled form computes of some numbers of queries and keys."""
    problem = Attention(queries=queries, keys=keys, width=WIDTH, width_v=WIDTH_V)
    inputs = problem.inputs()
    with mlir_context():
        module = attention(rows)
        tile(module)
        add_caller(module, "attention", [*problem.arguments(), problem.output_shape])
        (found,) = execute(module, [*inputs, np.full(problem.output_shape, np.nan)])
    close(found, problem.reference(*inputs).output)


@pytest.mark.parametrize("keys", [1, 4, 7])
@pytest.mark.parametrize("queries", [1, 3, 8])
def test_a_last_tile_is_as_small_as_it_has_to_be(queries: int, keys: int) -> None:
    computed(lambda module: _tile_product(module, [3, 0, 4]), queries, keys)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_any_order_of_loops_over_unknown_lengths_is_right(order: list[int]) -> None:
    computed(lambda module: _tile_product(module, [2, 0, 3], order), queries=5, keys=7)


def test_a_grid_has_as_many_points_as_a_call_has_tiles() -> None:
    def tile(module: ir.Module) -> None:
        stored = within(module, "linalg.generic")[-1]
        tile_and_fuse(stored, [2, 0], options=TileOptions(grid=1))

    computed(tile, queries=5, keys=6)


def test_loops_of_known_length_are_tiled_beside_unknown_ones() -> None:
    computed(lambda module: _tile_product(module, [2, 0, 3]), queries=6, keys=5, rows=6)
    computed(lambda module: _tile_product(module, [0, 2, 0]), queries=5, keys=6)


def test_what_needs_a_length_before_the_run_is_told_that_there_is_none() -> None:
    with mlir_context():
        module = attention()
        view = view_of(within(module, "attn.batch_matmul")[-1])
        assert view is not None
        assert view.length(1) == WIDTH_V
        with pytest.raises(RewriteRefusedError, match="how often loop 2 runs is known only at run time"):
            view.length(2)


def test_no_size_keeps_what_is_fused_outside_the_loops() -> None:
    """A size is that of an argument, so that nothing needs the untiled product, its scores or the softmax."""
    with mlir_context():
        module = attention()
        _tile_product(module, [2, 0, 3])
        assert len(within(module, "attn.softmax")) == 1
        sources = [dimension.operands[0] for dimension in within(module, "tensor.dim")]
        assert sources
        assert all(isinstance(source, ir.BlockArgument) for source in sources)


SIZES = """
func.func @f(%x: tensor<?x4xf64>, %n: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %empty = tensor.empty(%n) : tensor<?x4xf64>
  %new = linalg.exp ins(%x : tensor<?x4xf64>) outs(%empty : tensor<?x4xf64>) -> tensor<?x4xf64>
  %slice = tensor.extract_slice %x[0, 0] [%n, 4] [1, 1] : tensor<?x4xf64> to tensor<?x4xf64>
  %part = linalg.exp ins(%new : tensor<?x4xf64>) outs(%slice : tensor<?x4xf64>) -> tensor<?x4xf64>
  %there = linalg.exp ins(%part : tensor<?x4xf64>) outs(%x : tensor<?x4xf64>) -> tensor<?x4xf64>
  %a = tensor.dim %new, %c0 : tensor<?x4xf64>
  %b = tensor.dim %part, %c0 : tensor<?x4xf64>
  %c = tensor.dim %there, %c0 : tensor<?x4xf64>
  return %a, %b, %c : index, index, index
}
"""


def test_a_size_is_what_a_new_tensor_a_slice_or_an_argument_was_given() -> None:
    with mlir_context():
        module = ir.Module.parse(SIZES)
        assert resolve_sizes(module) == 3
        (function,) = module.body.operations
        x, size = function.arguments
        (end,) = within(module, "func.return")
        assert list(end.operands)[:2] == [size, size]
        assert end.operands[2].owner.operands[0] == x


def _tile_product(module: ir.Module, sizes: list[int], order: list[int] | None = None) -> None:
    tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes, order)
