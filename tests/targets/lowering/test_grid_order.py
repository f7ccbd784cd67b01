"""Points of a grid with the longest loops come first, each of them once, where loops depend on the point."""

from collections.abc import Iterator

import numpy as np
import pytest
from mlir import ir

from harness.costs.expressions import Bindings, Constant
from harness.costs.operations.integers import INTEGERS
from harness.costs.walk import Walk
from harness.dialect.context import mlir_context
from harness.ir.walk import operations_within
from harness.targets.lowering.grid_order import MOST_POINTS, number_longest_first

SIZES = (2, 3, 4)
"""Batches, heads, tiles of queries."""

KERNEL = """
func.func @kernel(%out: memref<2x3x4xindex>, %lengths: memref<4xindex>) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  scf.forall (%b, %h, %q) in ({sizes}) {{
    {bounds}
    scf.for %k = %first to %end step %c64 {{
      memref.store %k, %out[%b, %h, %q] : memref<2x3x4xindex>
    }}
  }}
  return
}}
"""

FULL = """
    %first = affine.apply affine_map<() -> (0)>()
    %end = affine.apply affine_map<() -> (256)>()"""
CAUSAL = """
    %first = affine.apply affine_map<() -> (0)>()
    %end = affine.min affine_map<(d0) -> (d0 * 64 + 64, 256)>(%q)"""
TOP_LEFT_OF_FEW_KEYS = """
    %first = affine.apply affine_map<() -> (0)>()
    %end = affine.min affine_map<(d0) -> (d0 * 64 + 64, 128)>(%q)"""
ANTICAUSAL = """
    %first = affine.apply affine_map<(d0) -> (d0 * 64)>(%q)
    %end = affine.apply affine_map<() -> (256)>()"""
WINDOW = """
    %first = affine.max affine_map<(d0) -> (d0 * 64 - 64, 0)>(%q)
    %end = affine.min affine_map<(d0) -> (d0 * 64 + 128, 256)>(%q)"""
CAUSAL_WINDOW = """
    %first = affine.max affine_map<(d0) -> (d0 * 64 - 64, 0)>(%q)
    %end = affine.min affine_map<(d0) -> (d0 * 64 + 64, 256)>(%q)"""
SHIFTED_WINDOW = """
    %first = affine.apply affine_map<(d0) -> (d0 * 64)>(%q)
    %end = affine.apply affine_map<(d0) -> (d0 * 64 + 64)>(%q)"""
KNOWN_AT_RUN_TIME = """
    %first = affine.apply affine_map<() -> (0)>()
    %length = memref.load %lengths[%q] : memref<4xindex>
    %end = affine.min affine_map<(d0, d1) -> (d0 * 64 + 64, d1)>(%q, %length)"""
TWO_AXES = """
    %first = affine.apply affine_map<(d0) -> (d0 * 64)>(%h)
    %end = affine.min affine_map<(d0) -> (d0 * 64 + 64, 256)>(%q)"""


def kernel(bounds: str, sizes: tuple[int, ...] = SIZES) -> ir.Module:
    return ir.Module.parse(KERNEL.format(bounds=bounds, sizes=", ".join(map(str, sizes))))


def points(module: ir.Module) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the coordinates that each point of the grid stores to, in order, and how many keys it visits."""
    (grid,) = [op for op in operations_within(module.operation) if op.name == "scf.forall"]
    body = grid.regions[0].blocks[0]
    (loop,) = [op for op in body.operations if op.name == "scf.for"]
    store = loop.regions[0].blocks[0].operations[0]
    for numbers in np.ndindex(*ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"])):
        walk = Walk({})
        for argument, number in zip(body.arguments, numbers, strict=True):
            walk.define(argument, Constant(int(number)))
        for operation in body.operations:
            if operation.name in INTEGERS:
                INTEGERS[operation.name](walk, operation)
        first, end = (walk.integer(value).value(Bindings({})) for value in list(loop.operands)[:2])
        place = tuple(walk.integer(value).value(Bindings({})) for value in list(store.operands)[2:])
        yield place, max(0, end - first)


@pytest.mark.parametrize(
    "bounds",
    [CAUSAL, TOP_LEFT_OF_FEW_KEYS, ANTICAUSAL, CAUSAL_WINDOW],
    ids=["causal", "top-left", "anticausal", "causal-window"],
)
def test_every_point_comes_once_and_longer_loops_come_first(bounds: str) -> None:
    with mlir_context():
        module = kernel(bounds)
        number_longest_first(module)
        module.operation.verify()
        places, work = zip(*points(module), strict=True)
    assert sorted(places) == list(np.ndindex(*SIZES))
    assert list(work) == sorted(work, reverse=True)
    assert work[0] > work[-1]


def test_batches_and_heads_of_one_tile_of_queries_keep_their_order() -> None:
    with mlir_context():
        module = kernel(CAUSAL)
        number_longest_first(module)
        places = [place for place, _ in points(module)]
    assert places[:6] == [(0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 3), (1, 1, 3), (1, 2, 3)]


def test_two_axes_that_loops_depend_on_are_the_slowest_each_in_its_direction() -> None:
    with mlir_context():
        module = kernel(TWO_AXES)
        number_longest_first(module)
        places = [place for place, _ in points(module)]
    assert sorted(places) == list(np.ndindex(*SIZES))
    assert places[:4] == [(0, 0, 3), (1, 0, 3), (0, 0, 2), (1, 0, 2)]


@pytest.mark.parametrize(
    "bounds", [FULL, WINDOW, SHIFTED_WINDOW, KNOWN_AT_RUN_TIME], ids=["full", "window", "shifted", "run-time"]
)
def test_what_neither_grows_nor_shrinks_stays_as_it_is(bounds: str) -> None:
    with mlir_context():
        module = kernel(bounds)
        before = str(module)
        number_longest_first(module)
        assert str(module) == before


def test_a_grid_of_more_points_than_can_be_looked_at_stays_as_it_is() -> None:
    with mlir_context():
        module = kernel(CAUSAL.replace("256", "1000000"), (1, 1, MOST_POINTS + 1))
        before = str(module)
        number_longest_first(module)
        assert str(module) == before


def test_an_axis_that_is_the_slowest_already_only_changes_its_direction() -> None:
    with mlir_context():
        module = kernel(CAUSAL.replace("%q", "%b"))
        number_longest_first(module)
        places = [place for place, _ in points(module)]
        text = str(module)
    assert "in (2, 3, 4)" in text
    assert places[0] == (1, 0, 0)
