"""Points of a grid with the longest loops come first, each of them once, where loops depend on the point."""

from collections.abc import Iterator

import numpy as np
import pytest
from mlir import ir

from harness.codegen.costs.expressions import Bindings, Constant
from harness.codegen.costs.operations.arithmetic import INTEGERS
from harness.codegen.costs.walk import Walk
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
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
        first, end = (walk.integer(value).evaluate(Bindings({})) for value in list(loop.operands)[:2])
        place = tuple(walk.integer(value).evaluate(Bindings({})) for value in list(store.operands)[2:])
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


@pytest.mark.parametrize(
    ("bounds", "first", "places"),
    [
        (CAUSAL, 6, [(0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 3), (1, 1, 3), (1, 2, 3)]),
        (TWO_AXES, 4, [(0, 0, 3), (1, 0, 3), (0, 0, 2), (1, 0, 2)]),  # each axis in its direction
        (CAUSAL.replace("%q", "%b"), 1, [(1, 0, 0)]),  # it was the slowest already
    ],
    ids=["one axis", "two axes", "the slowest axis"],
)
def test_axes_that_loops_depend_on_are_slowest_and_others_keep_order(
    bounds: str, first: int, places: list[tuple[int, ...]]
) -> None:
    with mlir_context():
        module = kernel(bounds)
        number_longest_first(module)
        found = [place for place, _ in points(module)]
    assert sorted(found) == list(np.ndindex(*SIZES))
    assert found[:first] == places


@pytest.mark.parametrize(
    ("bounds", "sizes"),
    [
        (FULL, SIZES),
        (WINDOW, SIZES),
        (SHIFTED_WINDOW, SIZES),
        (KNOWN_AT_RUN_TIME, SIZES),
        (CAUSAL.replace("256", "1000000"), (1, 1, MOST_POINTS + 1)),
    ],
    ids=["full", "window", "shifted", "run-time", "too many points"],
)
def test_what_neither_grows_nor_shrinks_stays_as_it_is(bounds: str, sizes: tuple[int, ...]) -> None:
    with mlir_context():
        module = kernel(bounds, sizes)
        before = str(module)
        number_longest_first(module)
        assert str(module) == before
