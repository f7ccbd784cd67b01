"""The unfused form: three kernels, with the whole score matrix in memory between them.

Scores, softmax, weighted values: what attention is before any fusion.  The score matrix is f32 and stored
in blocks of one query tile, `[batch, head, tile, query, key]`, the kindest layout for the second and third
kernel.  A causal mask hides scores but saves no work, as in any implementation from library calls.
"""

from mlir import ir

from harness.payloads import attention_steps as steps
from harness.payloads import builder as b
from harness.variants import tiled_function as tiled
from harness.variants.tiling import Tiling


def unfused_module(tiling: Tiling) -> ir.Module:
    """Return the module with the kernels `scores(Q, K, S)`, `softmax(S)` and `values(S, V, O)`."""
    query, key, value, output = tiled.attention_arguments(tiling.problem)
    matrix = tiled.KernelArgument(
        "scores", ("batch", "head", "tile", "query", "key"), score_shape(tiling), "f32", free_layout=True
    )
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        tiled.kernel("scores", tiling, [query, key, matrix], lambda *tile: _scores(tiling, *tile))
        tiled.kernel("softmax", tiling, [matrix], lambda *tile: _softmax(tiling, *tile))
        tiled.kernel("values", tiling, [matrix, value, output], lambda *tile: _values(tiling, *tile))
    return module


def score_shape(tiling: Tiling) -> tuple[int, int, int, int, int]:
    """Return the shape of the score matrix."""
    problem = tiling.problem
    return problem.batch, problem.heads, tiling.query_tiles, tiling.padded_query, problem.seq_kv


def unfused_flops(tiling: Tiling) -> int:
    """Return the matrix-product operations that the form executes."""
    problem = tiling.problem
    rows = problem.batch * problem.heads * tiling.query_tiles * tiling.padded_query
    repeated = tiling.key_tiles * tiling.key - problem.seq_kv
    score_pairs, value_pairs = problem.seq_kv + repeated, problem.seq_kv
    return 2 * rows * (score_pairs * problem.head_dim + value_pairs * problem.head_dim_v)


def _row_slice(tiling: Tiling, point: tiled.GridPoint) -> tuple[list[ir.Value | int], list[int]]:
    sizes = [1, 1, 1, tiling.padded_query, tiling.problem.seq_kv]
    return [point.batch, point.head, point.tile, 0, 0], sizes


def _scores(tiling: Tiling, point: tiled.GridPoint, inputs: list[ir.Value], matrix: ir.Value) -> None:
    query, key = inputs
    offsets, sizes = _row_slice(tiling, point)
    query_tile = tiled.load_query(query, tiling, point)
    rows = b.slice_of(matrix, offsets, sizes, keep=[3, 4])
    rows = score_rows(tiling, point, query_tile, key, rows)
    tiled.publish(rows, matrix, offsets, sizes)


def score_rows(
    tiling: Tiling, point: tiled.GridPoint, query_tile: ir.Value, key: ir.Value, rows: ir.Value
) -> ir.Value:
    """Fill `rows` `[queries, all keys]` with the masked scores of one query tile, key tile by key tile."""

    def step(tile: ir.Value, filled_rows: ir.Value) -> list[ir.Value]:
        first_key = tiled.first_key_of(tiling, tile)
        score = steps.scores(query_tile, tiled.load_keys(key, tiling, point, first_key, tiling.key))
        visible = tiled.causal_visibility(tiling, point, first_key)
        score = steps.masked(score, visible) if visible else score
        return [b.insert(score, filled_rows, [0, first_key], [tiling.padded_query, tiling.key])]

    return tiled.key_loop(0, tiling.key_tiles, [rows], step)[0]


def _softmax(tiling: Tiling, point: tiled.GridPoint, inputs: list[ir.Value], matrix: ir.Value) -> None:
    offsets, sizes = _row_slice(tiling, point)
    rows = b.slice_of(matrix, offsets, sizes, keep=[3, 4])
    factor = steps.score_factor(tiling.problem.scale)
    maximum = steps.row_maximum(rows, b.filled(steps.LOWEST, [tiling.padded_query]))
    exponential = steps.exponentials(rows, maximum, factor)
    total = steps.row_sum(exponential, b.filled(0.0, [tiling.padded_query]))
    tiled.publish(steps.divided_scores(exponential, total), matrix, offsets, sizes)


def _values(tiling: Tiling, point: tiled.GridPoint, inputs: list[ir.Value], output: ir.Value) -> None:
    matrix, value = inputs
    offsets, sizes = _row_slice(tiling, point)
    width = tiling.problem.head_dim_v
    rows = b.slice_of(matrix, offsets, sizes, keep=[3, 4])

    def add(first_key: ir.Value | int, keys: int, accumulator: ir.Value) -> ir.Value:
        probability = b.slice_of(rows, [0, first_key], [tiling.padded_query, keys], keep=[0, 1])
        return steps.accumulated(
            probability, tiled.load_keys(value, tiling, point, first_key, keys), accumulator
        )

    whole_tiles, rest = divmod(tiling.problem.seq_kv, tiling.key)
    accumulator = tiled.key_loop(
        0,
        whole_tiles,
        [b.filled(0.0, [tiling.padded_query, width])],
        lambda tile, total: [add(b.affine_value(lambda j: j * tiling.key, tile), tiling.key, total)],
    )[0]
    if rest:
        accumulator = add(whole_tiles * tiling.key, rest, accumulator)
    tiled.store_output(accumulator, None, output, tiling, point)
