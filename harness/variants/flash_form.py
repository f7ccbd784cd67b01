"""The FlashAttention-style tiled form: one pass over the keys with running row statistics.

After Dao, "FlashAttention-2" (2023): for each tile of queries the loop over key tiles carries the row
maximum m, the row sum l and the unnormalised output; the division by l happens once, after the loop.
Key tiles that a causal mask hides completely are not visited, and only those that it cuts are masked.
"""

from mlir import ir

from harness.payloads import attention_steps as steps
from harness.payloads import builder as b
from harness.variants import tiled_function as tiled
from harness.variants.tiling import Tiling


def flash_module(tiling: Tiling) -> ir.Module:
    """Return the module with the kernel `attention(Q, K, V, O)`; needs a current MLIR context."""
    problem = tiling.problem
    module = ir.Module.create()

    def build_tile(point: tiled.GridPoint, inputs: list[ir.Value], output: ir.Value) -> None:
        query, key, value = inputs
        query_tile = tiled.load_query(query, tiling, point)
        rows = tiling.padded_query
        carried = [
            b.filled(steps.LOWEST, [rows]),
            b.filled(0.0, [rows]),
            b.filled(0.0, [rows, problem.head_dim_v]),
        ]
        whole, end = _key_tile_bounds(tiling, point)
        for first, last, cut in ((0, whole, False), (whole, end, True)):
            carried = tiled.key_loop(
                first,
                last,
                carried,
                lambda tile, *state, cut=cut: _key_step(
                    tiling, point, query_tile, key, value, tile, list(state), cut
                ),
            )
        _, total, accumulator = carried
        tiled.store_output(accumulator, total, output, tiling, point)

    with ir.InsertionPoint(module.body):
        tiled.kernel("attention", tiling, tiled.attention_arguments(problem), build_tile)
    return module


def flash_flops(tiling: Tiling) -> int:
    """Return the matrix-product operations that the form executes."""
    return tiling.problem.batch * tiling.problem.heads * tiling.visited_key_tiles() * sum(tiling.tile_flops)


def _key_step(
    tiling: Tiling,
    point: tiled.GridPoint,
    query_tile: ir.Value,
    key: ir.Value,
    value: ir.Value,
    tile: ir.Value,
    state: list[ir.Value],
    cut: bool,
) -> list[ir.Value]:
    """Take one key tile into the running maximum, sum and output."""
    maximum, total, accumulator = state
    factor = steps.score_factor(tiling.problem.scale)
    first_key = tiled.first_key_of(tiling, tile) if cut else b.affine_value(lambda j: j * tiling.key, tile)
    score = steps.scores(query_tile, tiled.load_keys(key, tiling, point, first_key, tiling.key))
    if cut:
        visible = tiled.both(
            tiled.once_visibility(tiling, tile, first_key), tiled.causal_visibility(tiling, point, first_key)
        )
        score = steps.masked(score, visible) if visible else score
    new_maximum = steps.row_maximum(score, maximum)
    alpha = steps.correction(maximum, new_maximum, factor)
    probability = steps.exponentials(score, new_maximum, factor)
    new_total = steps.row_sum(probability, steps.rescaled_rows(total, alpha))
    value_tile = tiled.load_keys(value, tiling, point, first_key, tiling.key)
    new_accumulator = steps.accumulated(probability, value_tile, steps.rescaled_rows(accumulator, alpha))
    return [new_maximum, new_total, new_accumulator]


def _key_tile_bounds(tiling: Tiling, point: tiled.GridPoint) -> tuple[ir.Value | int, ir.Value | int]:
    """Return how many leading key tiles are seen whole by every query of the tile, and how many at all."""
    seq_kv, key = tiling.problem.seq_kv, tiling.key
    shift = tiling.problem.causal_shift
    if shift is None:
        return seq_kv // key, tiling.key_tiles
    seen_by_first = _clamped(point.first_query, shift + 1, seq_kv)
    seen_by_last = _clamped(point.first_query, shift + tiling.query, seq_kv)
    whole = b.affine_value(lambda keys: ir.AffineExpr.get_floor_div(keys, key), seen_by_first)
    end = b.affine_value(lambda keys: ir.AffineExpr.get_ceil_div(keys, key), seen_by_last)
    return whole, end


def _clamped(base: ir.Value, offset: int, upper: int) -> ir.Value:
    """Return `base + offset` limited to 0 … upper."""
    limited = b.affine_minimum(lambda position: [position + offset, upper], base)
    return b.affine_maximum(lambda position: [position, 0], limited)
