"""Every operation of the dialect, as linalg, computes what its definition says."""

import math

import numpy as np
from codegen.rewrites.attention_ir import integers
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.decomposition import decompose, decompose_all
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import producer_of

LENGTHS = st.integers(1, 5)
SEEDS = st.integers(0, 2**16)


def computed(inputs, build):
    """Return what the results of the operation that `build` makes are, computed by its decomposition."""
    with mlir_context():
        module = payload([each.shape for each in inputs], build)
        decompose_all(module)
        assert "attn." not in str(module)
        return execute(module, inputs)


@settings(max_examples=10)
@given(
    st.sampled_from(attn.LAYOUTS),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
    st.tuples(LENGTHS, LENGTHS, LENGTHS),
    SEEDS,
)
def test_products_are_added_to_their_initial_value(layout, batch, sizes, seed):
    rng = np.random.default_rng(seed)
    m, n, k = sizes
    left, right = rng.normal(size=(*batch, m, k)), rng.normal(size=(*batch, k, n))
    start = rng.normal(size=(*batch, m, n))
    expected = np.array(start)
    for position in np.ndindex(*batch, m, n):
        *leading, row, column = position
        for inner in range(k):
            expected[position] += left[(*leading, row, inner)] * right[(*leading, inner, column)]
    stored = [
        left if layout[0] == "n" else np.swapaxes(left, -1, -2),
        right if layout[1] == "n" else np.swapaxes(right, -1, -2),
        start,
    ]
    (product,) = computed(stored, lambda *values: [attn.batch_matmul(*values, layout=layout).product])
    close(product, expected)


MIXED = """
func.func @main(%lhs: tensor<1x3xf32>, %rhs: tensor<3x1xf32>, %init: tensor<1x1xf64>) -> tensor<1x1xf64> {
  %product = "attn.batch_matmul"(%lhs, %rhs, %init) {layout = "nn"}
      : (tensor<1x3xf32>, tensor<3x1xf32>, tensor<1x1xf64>) -> tensor<1x1xf64>
  return %product : tensor<1x1xf64>
}
"""


def test_products_accumulate_in_the_type_of_their_initial_value():
    """2**24 + 1 is no f32, nor is the square of 2**12 + 1."""
    with mlir_context():
        module = ir.Module.parse(MIXED)
        row = np.array([[2.0**24, 1.0, 2.0**12 + 1]])
        column = np.array([[1.0], [1.0], [2.0**12 + 1]])
        (found,) = execute(module, [row, column, np.zeros((1, 1))])
    assert found == 2.0**24 + 1 + (2.0**12 + 1) ** 2


def softmax_by_definition(x, dimension, maximum, total, scale, normalized, slack):
    """Return the four results, one row after the other."""
    rows = np.moveaxis(x, dimension, -1)
    probability = np.empty_like(rows)
    statistics = np.empty((3, *maximum.shape))
    for position in np.ndindex(*maximum.shape):
        row, old = rows[position], maximum[position]
        m = max(old, *row)
        if scale * (m - old) <= slack * math.log(2):
            m = old
        rescaling = math.exp(scale * (old - m))
        exponentials = [math.exp(scale * (element - m)) for element in row]
        a = total[position] * rescaling + sum(exponentials)
        if not normalized:
            probability[position], s = exponentials, rescaling
        elif a == 0:
            probability[position], s = 0, 0
        else:
            probability[position] = [element / a for element in exponentials]
            s = total[position] * rescaling / a
        statistics[(slice(None), *position)] = m, a, s
    return [np.moveaxis(probability, -1, dimension), *statistics]


@st.composite
def softmaxes(draw):
    """A shape, the reduced dimension, and the arguments: scores, some −inf, and statistics to start from."""
    shape = tuple(draw(st.lists(LENGTHS, min_size=1, max_size=3)))
    dimension = draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(draw(SEEDS))
    x = 3 * rng.normal(size=shape)
    hidden_rows = rng.random(shape) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    x[np.logical_or(hidden_rows, rng.random(shape) < 0.2)] = -np.inf
    rows = shape[:dimension] + shape[dimension + 1 :]
    maximum = np.where(rng.random(rows) < 0.5, -1e30, 3 * rng.normal(size=rows))
    total = np.where(rng.random(rows) < 0.5, 0.0, 2 * rng.random(rows))
    return dimension, [x, maximum, total]


VECTOR = (0, [np.array([1.0, -2.0]), np.array(0.5), np.array(2.0)])


@settings(max_examples=24)
@example(VECTOR, 1.0, True, False, 0, 0)
@example(VECTOR, 1.0, True, False, 0, 8)
@given(
    softmaxes(),
    st.sampled_from([1.0, 0.125, 2.0, 100.0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 11]),
    st.sampled_from([0, 8]),
)
def test_softmaxes_continue_from_a_maximum_and_a_total(drawn, scale, normalized, first, shift, slack):
    """A shift multiplies probabilities and totals by a power of two, within a slack the maximum stays."""
    dimension, (x, maximum, total) = drawn

    def build(x, maximum, total):
        softmax = attn.softmax(
            x,
            b.empty_like(x),
            maximum,
            total,
            b.empty_like(maximum),
            dimension=dimension,
            scale=scale,
            normalized=normalized,
            subtracts_first=first,
        )
        for name, power in ((attn.SHIFT, shift), (attn.SLACK, slack)):
            if power:
                softmax.set_power(name, power)
        return list(softmax.operation.results)

    results = computed([x, maximum, 2.0**shift * total], build)
    expected = softmax_by_definition(x, dimension, maximum, total, scale, normalized, slack)
    for result, reference, factor in zip(results, expected, (2.0**shift, 1.0, 2.0**shift, 1.0), strict=True):
        close(result, factor * reference)


@settings(max_examples=8)
@given(st.lists(LENGTHS, min_size=1, max_size=3).map(tuple), SEEDS)
def test_diagonal_matrices(shape, seed):
    x = np.random.default_rng(seed).normal(size=shape)

    def build(x):
        sizes = b.sizes_of(x)
        return [attn.diag(x, b.empty([*sizes, sizes[-1]], "f64")).matrix]

    (matrix,) = computed([x], build)
    expected = np.zeros((*shape, shape[-1]))
    for position in np.ndindex(*shape):
        expected[(*position, position[-1])] = x[position]
    assert np.array_equal(matrix, expected)


@st.composite
def masks(draw):
    """A tile's shape, the map dimensions of its axes, offsets, symbols and inequalities.

    An inequality is the coefficients of the map's dimensions, those of their remainders by 3, those of its
    symbols and a constant.
    """
    shape = tuple(draw(st.lists(LENGTHS, min_size=1, max_size=3)))
    count = len(shape) + draw(st.integers(0, 1))
    dimensions = draw(st.permutations(range(count)))[: len(shape)]
    offsets = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    symbols = draw(st.lists(st.integers(-4, 4), max_size=2))
    coefficient = st.integers(-2, 2)
    inequality = st.tuples(
        st.lists(coefficient, min_size=count, max_size=count),
        st.lists(coefficient, min_size=count, max_size=count),
        st.lists(coefficient, min_size=len(symbols), max_size=len(symbols)),
        st.integers(-5, 5),
    )
    return shape, dimensions, offsets, symbols, draw(st.lists(inequality, min_size=1, max_size=3))


@settings(max_examples=18)
@given(masks(), st.sampled_from([-math.inf, 0.0, 2.5]))
def test_masks_keep_what_satisfies_all_inequalities(drawn, fill):
    shape, dimensions, offsets, symbols, inequalities = drawn
    x = np.random.default_rng(0).normal(size=shape)

    def expression(of_dimensions, of_remainders, of_symbols, constant):
        total = ir.AffineConstantExpr.get(constant)
        for position, coefficient in enumerate(of_dimensions):
            total = total + ir.AffineDimExpr.get(position) * coefficient
        for position, coefficient in enumerate(of_remainders):
            total = total + ir.AffineExpr.get_mod(ir.AffineDimExpr.get(position), 3) * coefficient
        for position, coefficient in enumerate(of_symbols):
            total = total + ir.AffineSymbolExpr.get(position) * coefficient
        return total

    def build(x):
        visible = ir.AffineMap.get(len(offsets), len(symbols), [expression(*each) for each in inequalities])
        indices = [[b.index(value) for value in values] for values in (offsets, symbols)]
        return [attn.mask(x, visible, *indices, dimensions=dimensions, fill=fill).masked]

    (masked,) = computed([x], build)
    expected = np.array(x)
    for position in np.ndindex(*shape):
        whole = list(offsets)
        for axis, dimension in enumerate(dimensions):
            whole[dimension] += position[axis]
        for of_dimensions, of_remainders, of_symbols, constant in inequalities:
            value = np.dot(of_dimensions, whole) + np.dot(of_remainders, np.array(whole) % 3)
            if value + np.dot(of_symbols, symbols) + constant < 0:
                expected[position] = fill
    assert np.array_equal(masked, expected)


BOUNDS = st.integers(-1, 9)


@settings(max_examples=8)
@given(
    st.lists(st.tuples(BOUNDS, BOUNDS), min_size=1, max_size=4),
    st.sampled_from([(), (2,)]),
    LENGTHS,
    st.integers(0, 4),
    st.sampled_from([-math.inf, 1.5]),
)
def test_masks_of_rows_keep_what_lies_between_the_bounds(bounds, leading, columns, offset, fill):
    shape = (*leading, len(bounds), columns)
    x = np.random.default_rng(0).normal(size=shape)

    def build(x):
        first, end = (integers(values) for values in zip(*bounds, strict=True))
        return [attn.row_mask(x, first, end, b.index(offset), fill=fill).masked]

    (masked,) = computed([x], build)
    expected = np.array(x)
    for row, (first, end) in enumerate(bounds):
        hidden = [not first <= offset + column < end for column in range(columns)]
        expected[..., row, hidden] = fill
    assert np.array_equal(masked, expected)


@settings(max_examples=8)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=3),
    LENGTHS,
    LENGTHS,
    st.tuples(*[st.integers(0, 3)] * 3),
    st.integers(-2, 2),
    st.sampled_from([-math.inf, 1.5]),
)
def test_masks_of_lengths_keep_what_is_seen_at_the_length_of_an_entry(
    lengths, rows, columns, offsets, moved, fill
):
    shape = (len(lengths), rows, columns)
    x = np.random.default_rng(0).normal(size=shape)

    def build(x):
        row, column = ir.AffineDimExpr.get(1), ir.AffineDimExpr.get(2)
        length = ir.AffineSymbolExpr.get(0)
        visible = ir.AffineMap.get(3, 1, [length - column + (-1), row - column + length * 2 + moved])
        places = [b.index(offset) for offset in offsets]
        return [attn.length_mask(x, integers(lengths), visible, places, fill=fill).masked]

    (masked,) = computed([x], build)
    expected = np.array(x)
    for entry, i, j in np.ndindex(*shape):
        row, column, length = offsets[1] + i, offsets[2] + j, lengths[entry]
        if column >= length or row - column + 2 * length + moved < 0:
            expected[entry, i, j] = fill
    assert np.array_equal(masked, expected)


def test_a_mask_of_what_a_kernel_was_given_does_not_change_it():
    def masked(argument):
        visible = ir.AffineMap.get_identity(2)
        return attn.mask(argument, visible, [b.index(0)] * 2, fill=0.0).operation

    with mlir_context():
        module = payload([(2, 2)], lambda x: [masked(x).results[0]])
        decompose(within(module, "attn.mask")[0])
        (generic,) = within(module, "linalg.generic")
        assert [op.name for op in map(producer_of, generic.operands) if op is not None] == ["tensor.empty"]
