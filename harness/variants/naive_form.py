"""The naive tile-and-fuse form: every key tile recomputes the row statistics it needs.

What greedy producer fusion gives when the last product is tiled in queries and keys (source document 000,
tile [T0, 0, T2]): the tile of probabilities needs the row's maximum and sum, these need the whole row of
scores, and so each tile computes the whole row again.  This is the correct form of it: the accumulator
starts at zero outside the loop over key tiles, not inside as in the published listing.
"""

from mlir import ir

from harness.payloads import attention_steps as steps
from harness.payloads import builder as b
from harness.variants import tiled_function as tiled
from harness.variants.tiling import Tiling
from harness.variants.unfused_form import score_rows


def naive_module(tiling: Tiling) -> ir.Module:
    """Return the module with the kernel `attention(Q, K, V, O)`; needs a current MLIR context."""
    problem = tiling.problem
    module = ir.Module.create()

    def build_tile(point: tiled.GridPoint, inputs: list[ir.Value], output: ir.Value) -> None:
        query, key, value = inputs
        query_tile = tiled.load_query(query, tiling, point)
        accumulator = tiled.key_loop(
            0,
            tiling.key_tiles,
            [b.filled(0.0, [tiling.padded_query, problem.head_dim_v])],
            lambda tile, total: [_key_step(tiling, point, query_tile, key, value, tile, total)],
        )[0]
        tiled.store_output(accumulator, None, output, tiling, point)

    with ir.InsertionPoint(module.body):
        tiled.kernel("attention", tiling, tiled.attention_arguments(problem), build_tile)
    return module


def naive_flops(tiling: Tiling) -> int:
    """Return the matrix-product operations that the form executes.

    With n key tiles, n rows of scores, n tiles of scores and n tiles of values per query tile: for
    head_dim = head_dim_v and tiles that divide, a factor of (n + 2) / 2 over the ideal.
    """
    score, value = tiling.tile_flops
    tiles = tiling.key_tiles
    per_query_tile = tiles * (tiles * score + score + value)
    return tiling.problem.batch * tiling.problem.heads * tiling.query_tiles * per_query_tile


def _key_step(
    tiling: Tiling,
    point: tiled.GridPoint,
    query_tile: ir.Value,
    key: ir.Value,
    value: ir.Value,
    tile: ir.Value,
    accumulator: ir.Value,
) -> ir.Value:
    """Recompute the row statistics, then add one key tile's share of the output."""
    queries = tiling.padded_query
    factor = steps.score_factor(tiling.problem.scale)
    rows = score_rows(tiling, point, query_tile, key, b.empty([queries, tiling.problem.seq_kv]))
    maximum = steps.row_maximum(rows, b.filled(steps.LOWEST, [queries]))
    total = steps.row_sum(steps.exponentials(rows, maximum, factor), b.filled(0.0, [queries]))

    first_key = tiled.first_key_of(tiling, tile)
    score = steps.scores(query_tile, tiled.load_keys(key, tiling, point, first_key, tiling.key))
    visible = tiled.both(
        tiled.once_visibility(tiling, tile, first_key), tiled.causal_visibility(tiling, point, first_key)
    )
    score = steps.masked(score, visible) if visible else score
    probability = steps.divided_scores(steps.exponentials(score, maximum, factor), total)
    return steps.accumulated(
        probability, tiled.load_keys(value, tiling, point, first_key, tiling.key), accumulator
    )
