"""Reductions in plain linalg that depend on each other go through one loop over what they reduce."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.decomposition import multiply_add
from harness.codegen.ir import builder as b
from harness.codegen.payloads.plain_linalg import softmax_in_linalg
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.tile_and_fuse import TiledNest, TileOptions, tile_and_fuse

ROWS, KEYS = 6, 10
TILES = st.integers(1, KEYS)
ORDERS = st.permutations(range(2))


def carrying(*, peels_rest: bool = False) -> TileOptions:
    return TileOptions(carries_reductions=True, peels_rest=peels_rest)


def maker(value: ir.Value) -> ir.OpView:
    return ir.OpResult(value).owner.opview


def summed(x: ir.Value, body: b.Body | None = None) -> ir.Value:
    """Return the sum of rows, or of a function of their elements."""

    def add(element: ir.Value, accumulated: ir.Value) -> ir.Value:
        return arith.addf(element if body is None else body(element), accumulated)

    return b.structured("qk->q", [x], b.filled(0.0, b.sizes_of(x)[:1], "f64"), add)


def largest(x: ir.Value, start: float = -1e30) -> ir.Value:
    return b.structured("qk->q", [x], b.filled(start, b.sizes_of(x)[:1], "f64"), arith.maximumf)


def exponentials(x: ir.Value, maximum: ir.Value) -> ir.Value:
    return b.structured(
        "qk,q->qk", [x, maximum], b.empty_like(x), lambda element, m: mlir_math.exp(arith.subf(element, m))
    )


def random(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    return [3 * rng.normal(size=shape) for shape in shapes]


def tiled(
    shapes: Sequence[tuple[int, ...]],
    build: Callable[..., tuple[list[ir.Value], ir.Value, list[ir.Value]]],
    sizes: Sequence[int],
    order: Sequence[int] | None = None,
    options: TileOptions | None = None,
) -> tuple[ir.Module, TiledNest]:
    """Return a module whose results, root and kept values `build` gives, with the root tiled."""
    chosen: list[tuple[list[ir.Value], ir.Value, list[ir.Value]]] = []

    def body(*arguments: ir.Value) -> list[ir.Value]:
        chosen.append(build(*arguments))
        return chosen[0][0]

    module = payload(shapes, body)
    _, root, keep = chosen[0]
    nest = tile_and_fuse(maker(root), sizes, order, keep_intermediates=keep, options=options or carrying())
    return module, nest


@settings(max_examples=8)
@given(tile=TILES, peels_rest=st.booleans())
def test_variance_by_sum_and_sum_of_squares_is_one_pass(tile: int, peels_rest: bool) -> None:
    """The two sums do not depend on each other, but read the same elements."""

    def build(x: ir.Value) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
        sums, squares = summed(x), summed(x, lambda element: arith.mulf(element, element))

        def variance(total_: ir.Value, square: ir.Value) -> ir.Value:
            count_ = b.constant(float(KEYS), "f64")
            mean = arith.divf(total_, count_)
            return arith.subf(arith.divf(square, count_), arith.mulf(mean, mean))

        result = b.structured("q,q->q", [sums, squares], b.empty_like(sums), variance)
        return [result], squares, [sums]

    (x,) = random((ROWS, KEYS))
    with mlir_context():
        module, nest = tiled([x.shape], build, [0, tile], options=carrying(peels_rest=peels_rest))
        assert len(nest.loops) == 1
        inside = [op for op in within(module, "linalg.generic") if op.operation.parent.name == "scf.for"]
        assert tile == KEYS or len(inside) >= 2
        (result,) = execute(module, [x])
    close(result, x.var(axis=1))


@settings(max_examples=12)
@given(tiles=st.tuples(st.sampled_from([0, 1, 2, 3]), TILES), order=ORDERS, peels_rest=st.booleans())
def test_log_sum_exp_is_one_pass(tiles: tuple[int, int], order: list[int], peels_rest: bool) -> None:
    def build(x: ir.Value) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
        maximum = largest(x)
        sums = summed(exponentials(x, maximum))
        result = b.structured(
            "q,q->q",
            [maximum, sums],
            b.empty_like(sums),
            lambda m, a: arith.addf(m, mlir_math.log(a)),
        )
        return [result], sums, []

    (x,) = random((ROWS, KEYS))
    with mlir_context():
        module, _ = tiled([x.shape], build, tiles, order, carrying(peels_rest=peels_rest))
        (result,) = execute(module, [x])
    close(result, np.log(np.exp(x).sum(axis=1)))


def attention_build(
    score: ir.Value, value: ir.Value, scale: float = 0.7, product: str = "linalg"
) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
    """Softmax in four operations, and its product with V."""
    weight = softmax_in_linalg(score, scale)
    zeros = b.filled(0.0, [ROWS, value.type.shape[1]], "f64")
    if product == "attn":
        result = attn.batch_matmul(weight, value, zeros).product
    else:
        result = b.structured("qk,ke->qe", [weight, value], zeros, multiply_add)
    return [result], result, []


def attention_of(score: np.ndarray, value: np.ndarray, scale: float = 0.7) -> np.ndarray:
    weight = np.exp(scale * (score - score.max(axis=1, keepdims=True)))
    return weight / weight.sum(axis=1, keepdims=True) @ value


@settings(max_examples=16)
@given(
    tiles=st.tuples(st.sampled_from([0, 1, 2, 3]), TILES),
    keys_outside=st.booleans(),
    peels_rest=st.booleans(),
    product=st.sampled_from(["linalg", "attn"]),
)
def test_a_softmax_in_four_operations_and_a_product_is_one_pass(
    tiles: tuple[int, int], keys_outside: bool, peels_rest: bool, product: str
) -> None:
    """Maximum, exponentials, sum, quotient and product: no tile needs a whole row."""
    inputs = random((ROWS, KEYS), (KEYS, 4))
    order = [2, 0, 1] if keys_outside else [0, 2, 1]
    with mlir_context():
        module, _ = tiled(
            [array.shape for array in inputs],
            lambda *values: attention_build(*values, product=product),
            [tiles[0], 0, tiles[1]],
            order,
            carrying(peels_rest=peels_rest),
        )
        (result,) = execute(module, inputs)
    close(result, attention_of(*inputs))


def test_nothing_is_computed_twice() -> None:
    shapes = [(ROWS, KEYS), (KEYS, 4)]
    with mlir_context():
        untiled = total(count(payload(shapes, lambda *values: attention_build(*values)[0])))
        module, _ = tiled(shapes, attention_build, [2, 0, 5], [0, 2, 1])
        costs = total(count(module))
    assert costs.matmul == untiled.matmul
    rescalings = 2 * ROWS * (1 + 4)
    assert untiled.exp < costs.exp <= untiled.exp + rescalings


@pytest.mark.parametrize("order", [[0, 2, 1], [2, 0, 1]])
def test_a_minimum_of_shifted_elements_is_moved_by_a_difference(order: list[int]) -> None:
    """min(x − 2·max x) changes by a difference where the maximum does."""

    def build(x: ir.Value) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
        two = lambda m: arith.mulf(m, b.constant(2.0, "f64"))  # noqa: E731
        shifted = b.structured(
            "qk,q->qk", [x, largest(x)], b.empty_like(x), lambda element, m: arith.subf(element, two(m))
        )
        least = b.structured("qk->q", [shifted], b.filled(math.inf, [ROWS], "f64"), arith.minimumf)
        return [least], least, []

    (x,) = random((ROWS, KEYS))
    with mlir_context():
        module, _ = tiled([x.shape], build, [2, 3], [order.index(0), 1 - order.index(0)])
        (result,) = execute(module, [x])
    close(result, (x - 2 * x.max(axis=1, keepdims=True)).min(axis=1))


def squared_deviations(x: ir.Value) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
    mean = summed(x)

    def square(element: ir.Value, m: ir.Value) -> ir.Value:
        deviation = arith.subf(element, m)
        return arith.mulf(deviation, deviation)

    sums = summed(b.structured("qk,q->qk", [x, mean], b.empty_like(x), square))
    return [sums], sums, []


def started_from_one(x: ir.Value) -> tuple[list[ir.Value], ir.Value, list[ir.Value]]:
    maximum = largest(x)
    ones = b.filled(1.0, [ROWS], "f64")
    sums = b.structured("qk->q", [exponentials(x, maximum)], ones, arith.addf)
    scaled = b.structured("qk,q->qk", [x, sums], b.empty_like(x), arith.divf)
    result = summed(scaled)
    return [result], result, []


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (squared_deviations, "no factor tells how they change"),
        (started_from_one, "does not start from nothing"),
    ],
)
def test_what_no_factor_undoes_is_refused(build: Callable, reason: str) -> None:
    """Squared deviations from a mean that changes; a total that a rescaling would change."""
    with mlir_context(), pytest.raises(RewriteRefusedError, match=reason):
        tiled([(ROWS, KEYS)], build, [0, 5])
