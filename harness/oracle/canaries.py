"""Wrong outputs that the checker must refuse at every sequence length: proof that it is not vacuous.

Each is what a typical mistake in a kernel leaves behind.  Most are derived from the expected output and its
log-sum-exp, so they cost far less than attention itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from harness.oracle.expected import Expected
from harness.oracle.reference import Head, heads, masked_scores, plain_rows, visible_keys
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.problem.negative_logits import negative_logit

TILE = 64
"""Keys of the tile that is skipped; a quarter of the keys where they are fewer than two tiles."""

WRONG_BLOCKS = 8
"""Blocks of rows that are computed another way, where that is costly; the others are left right."""

LOST_BITS = 3
"""Bits of the mantissa that bf16 lacks beside f16."""

FEW_KEYS = 64
"""With fewer keys, too coarse probabilities change an output by less than the steps of its own type."""

SUMMED_KEYS = 16
"""Keys of the tiles after each of which a sum is rounded."""

MANY_KEYS = 4096
"""With fewer keys, sums that are rounded to the output's type differ from it by few of its steps."""

HIGH_START = -1000.0
"""First value of a running maximum that logits of a row can lie far below."""

FINITE_FILL = -1e4
"""Number that hides a pair in place of −∞, and that logits of a row can lie far below."""

LAST_ROWS = 16
"""Rows at the end of each head that a partly written output lacks."""


@dataclass(frozen=True)
class Canary:
    """A named wrong output."""

    summary: str
    """The mistake that leaves it behind, in one line."""
    make: Callable[[Inputs, AttentionProblem, Expected], np.ndarray]
    """Returns the wrong output in the problem's output shape and dtype."""
    applies: Callable[[AttentionProblem], bool]
    """Whether the mistake changes this problem's output for inputs of distinct rows."""
    distribution: str = "normal"
    """The inputs that show it."""


def zeros(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return zeros: the kernel did nothing."""
    return np.zeros(problem.output_shape, numpy_dtype(problem.dtype))


def mean_of_values(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return the mean of the visible values: the scores are ignored."""
    output = np.zeros(problem.output_shape)
    for head in heads(inputs, problem):
        v = head.v.astype(np.float64)
        sums = np.concatenate([np.zeros((1, v.shape[1])), np.cumsum(v, axis=0)])
        for rows in head.blocks():
            first, end = visible_keys(head, rows, problem)
            if head.mask is None:
                total, count = sums[end] - sums[first], end - first
            else:
                keys = np.arange(len(head.k))
                visible = head.mask[rows] & (keys >= first[:, None]) & (keys < end[:, None])
                total, count = visible.astype(np.float64) @ v, visible.sum(axis=1)
            output[head.index][rows] = total / np.maximum(count, 1)[:, None]
    return _in_dtype(output, problem)


def scale_left_out(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return attention with scale 1 in some blocks of rows; the others are right, which is harder to see."""
    output = _in_dtype(expected.reference, problem)
    unscaled = problem.model_copy(update={"scale": 1.0})
    for head, rows in _some_blocks(inputs, problem):
        output[head.index][rows] = plain_rows(head, rows, unscaled)
    return output


def mask_off_by_one(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when every query misses the last key that it should see.

    Under a causal mask that is a diagonal shifted by one, without one it is the last key ignored.
    """

    def last_key(head: Head, rows: slice) -> tuple[slice, np.ndarray]:
        _, end = visible_keys(head, rows, problem)
        keys = slice(max(0, int(end.min()) - 1), int(end.max()))
        return keys, np.arange(keys.start, keys.stop) == end[:, None] - 1

    return _without(last_key, inputs, problem, expected)


def first_tile_skipped(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when the loop over KV tiles starts one tile too late."""

    def tile(head: Head, rows: slice) -> tuple[slice, np.ndarray]:
        return _first_tile(len(head.k)), np.array(True)

    return _without(tile, inputs, problem, expected)


def middle_tile_skipped(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when one KV tile in the middle is skipped."""

    def tile(head: Head, rows: slice) -> tuple[slice, np.ndarray]:
        return _middle_tile(len(head.k)), np.array(True)

    return _without(tile, inputs, problem, expected)


def heads_swapped(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return the right rows with those of the first two heads exchanged."""
    output = _in_dtype(expected.reference, problem)
    output[:, [0, 1]] = output[:, [1, 0]]
    return output


def stale_output(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return the right result for other inputs: those with V negated."""
    return _in_dtype(-expected.reference, problem)


def last_rows_stale(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return a right output but for the last rows of each head, which are still those of other inputs."""
    output = _in_dtype(expected.reference, problem)
    for head in heads(inputs, problem):
        output[head.index][-LAST_ROWS:] *= -1
    return output


def last_rows_unwritten(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return a right output but for the last rows of each head, which still hold the poison, NaN."""
    output = _in_dtype(expected.reference, problem)
    for head in heads(inputs, problem):
        output[head.index][-LAST_ROWS:] = np.nan
    return output


def maximum_too_high(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when a running maximum starts too high: nothing where all exponentials are 0.

    It starts at `HIGH_START`, or at 0 where the problem's logits are not as far below 0.
    """
    output = _in_dtype(expected.reference, problem)
    start = HIGH_START if negative_logit(problem) < HIGH_START else 0.0
    output[expected.log_sum_exp < start + np.log(np.finfo(np.float32).smallest_subnormal)] = 0
    return output


def masks_of_numbers(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when hidden pairs have the score `FINITE_FILL`; a row that sees no key is 0."""
    output = np.zeros(problem.output_shape)
    for head in heads(inputs, problem):
        k, v = head.k.astype(np.float64), head.v.astype(np.float64)
        for rows in head.blocks():
            q = head.q[rows].astype(np.float64)
            scores, _ = masked_scores(head, rows, problem, q, k, slice(0, len(k)))
            is_hidden = np.isneginf(scores)
            scores[is_hidden] = FINITE_FILL
            weights = np.exp(scores - scores.max(axis=1, initial=-np.inf, keepdims=True))
            weights[is_hidden.all(axis=1)] = 0
            total = weights.sum(axis=1, keepdims=True)
            output[head.index][rows] = weights @ v / np.where(total > 0, total, 1.0)
    return _in_dtype(output, problem)


def coarse_probabilities(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return attention with probabilities in a type of `LOST_BITS` bits less than the problem's."""
    bits = 1 - int(np.log2(float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps))) - LOST_BITS
    output = np.zeros(problem.output_shape)
    for head in heads(inputs, problem):
        k, v = head.k.astype(np.float64), head.v.astype(np.float64)
        for rows in head.blocks():
            scores, keys = masked_scores(head, rows, problem, head.q[rows].astype(np.float64), k)
            largest = scores.max(axis=1, initial=-np.inf, keepdims=True)
            weights = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
            total = weights.sum(axis=1, keepdims=True)
            mantissa, exponent = np.frexp(weights)
            rounded = np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)
            output[head.index][rows] = rounded @ v[keys] / np.where(total > 0, total, 1.0)
    return _in_dtype(output, problem)


def coarse_sums(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when the product with V is rounded to the dtype after each of its tiles."""
    output, dtype = _in_dtype(expected.reference, problem), numpy_dtype(problem.dtype)
    for head, rows in _some_blocks(inputs, problem):
        k, v = head.k.astype(np.float64), head.v.astype(np.float64)
        scores, keys = masked_scores(head, rows, problem, head.q[rows].astype(np.float64), k)
        weights, values = np.exp(scores - scores.max(axis=1, keepdims=True)), v[keys]
        total = np.zeros((len(scores), v.shape[1]))
        for first in range(0, len(values), SUMMED_KEYS):
            tile = slice(first, first + SUMMED_KEYS)
            total = (total + weights[:, tile] @ values[tile]).astype(dtype).astype(np.float64)
        output[head.index][rows] = total / weights.sum(axis=1, keepdims=True)
    return output


def sinks_left_out(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return attention whose weights add up to 1."""
    output = np.zeros(problem.output_shape)
    plain = replace(inputs, sinks=None)
    for head in heads(plain, problem):
        for rows in head.blocks():
            output[head.index][rows] = plain_rows(head, rows, problem)
    return _in_dtype(output, problem)


def _some_blocks(inputs: Inputs, problem: AttentionProblem) -> list[tuple[Head, slice]]:
    """Return up to `WRONG_BLOCKS` blocks of rows, from the first to the last."""
    blocks = [(head, rows) for head in heads(inputs, problem) for rows in head.blocks()]
    chosen = np.unique(np.linspace(0, len(blocks) - 1, WRONG_BLOCKS).round().astype(int))
    return [blocks[number] for number in chosen]


def _in_dtype(output: np.ndarray, problem: AttentionProblem) -> np.ndarray:
    return output.astype(numpy_dtype(problem.dtype))


def _without(
    left_out: Callable[[Head, slice], tuple[slice, np.ndarray]],
    inputs: Inputs,
    problem: AttentionProblem,
    expected: Expected,
) -> np.ndarray:
    """Return attention without some pairs: their share is taken out of the reference, the rest rescaled.

    `left_out` returns, for a block of rows, a range of keys and which pairs of it to leave out (boolean,
    broadcasts to `[rows, keys]`).  A row that loses all its weight becomes 0.
    """
    output = np.zeros(problem.output_shape)
    for head in heads(inputs, problem):
        k, v = head.k.astype(np.float64), head.v.astype(np.float64)
        for rows in head.blocks():
            keys, pairs = left_out(head, rows)
            scores, keys = masked_scores(head, rows, problem, head.q[rows].astype(np.float64), k, keys)
            log_sum_exp = expected.log_sum_exp[head.index][rows, None]
            weights = np.exp(scores - np.where(np.isneginf(log_sum_exp), 0.0, log_sum_exp)) * pairs
            kept = 1.0 - weights.sum(axis=1, keepdims=True)
            rest = expected.reference[head.index][rows] - weights @ v[keys]
            output[head.index][rows] = np.where(kept > 1e-9, rest / np.maximum(kept, 1e-9), 0.0)
    return _in_dtype(output, problem)


def _tile_width(seq_kv: int) -> int:
    return TILE if seq_kv >= 2 * TILE else max(1, seq_kv // 4)


def _first_tile(seq_kv: int) -> slice:
    return slice(0, min(_tile_width(seq_kv), seq_kv))


def _middle_tile(seq_kv: int) -> slice:
    width = _tile_width(seq_kv)
    start = seq_kv // 2 // width * width
    return slice(start, min(start + width, seq_kv))


def _some_row(problem: AttentionProblem, sees: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> bool:
    """Return whether `sees(first, end, seq_kv)` is true of some row's visible range of keys."""
    return any(
        bool(sees(*problem.visible_range(np.arange(seq_q), seq_q, seq_kv), seq_kv).any())
        for seq_q, seq_kv in problem.sequence_lengths()
    )


def _sees_a_key(problem: AttentionProblem) -> bool:
    return problem.visible_pairs() > 0


def _has_logits_below(bound: float, problem: AttentionProblem) -> bool:
    """Return whether `negative-logits` has logits below a bound in every row that sees a key."""
    is_capped = problem.softcap is not None and not problem.bias
    return not (problem.mask or is_capped) and negative_logit(problem) < bound


def _sees_two_keys(problem: AttentionProblem) -> bool:
    return _some_row(problem, lambda first, end, seq_kv: end - first > 1)


def _sees_tile(tile: Callable[[int], slice]) -> Callable[[AttentionProblem], bool]:
    """Return a test of whether some row sees a key of this tile."""

    def sees(first: np.ndarray, end: np.ndarray, seq_kv: int) -> np.ndarray:
        skipped = tile(seq_kv)
        return np.minimum(end, skipped.stop) > np.maximum(first, skipped.start)

    return lambda problem: _some_row(problem, sees)


CANARIES: dict[str, Canary] = {
    "zeros": Canary("nothing was computed", zeros, _sees_a_key),
    "mean-of-values": Canary("the scores are ignored", mean_of_values, _sees_two_keys),
    "scale-left-out": Canary(
        "the scores are not scaled",
        scale_left_out,
        lambda problem: problem.scale != 1 and _sees_two_keys(problem),
    ),
    "sinks-left-out": Canary(
        "weights add up to 1 although sinks take a share",
        sinks_left_out,
        lambda problem: problem.sinks and _sees_a_key(problem),
    ),
    "mask-off-by-one": Canary("the last visible key is missed", mask_off_by_one, _sees_a_key),
    "first-tile-skipped": Canary("the first KV tile is skipped", first_tile_skipped, _sees_tile(_first_tile)),
    "middle-tile-skipped": Canary("a KV tile is skipped", middle_tile_skipped, _sees_tile(_middle_tile)),
    "heads-swapped": Canary(
        "two heads are exchanged",
        heads_swapped,
        lambda problem: problem.heads > 1 and _sees_two_keys(problem),
    ),
    "stale-output": Canary("the output is that of an earlier call", stale_output, _sees_a_key),
    "last-rows-stale": Canary("the last rows are those of an earlier call", last_rows_stale, _sees_a_key),
    "last-rows-unwritten": Canary("the last rows were never written", last_rows_unwritten, _sees_a_key),
    "maximum-too-high": Canary(
        "a running maximum starts at -1000, or at 0",
        maximum_too_high,
        lambda problem: _has_logits_below(0.0, problem) and _sees_a_key(problem),
        distribution="negative-logits",
    ),
    "masks-of-numbers": Canary(
        "hidden pairs have the score -10000",
        masks_of_numbers,
        lambda problem: (
            _has_logits_below(FINITE_FILL, problem)
            and _some_row(problem, lambda first, end, seq_kv: (end > first) & (end - first < seq_kv))
        ),
        distribution="negative-logits",
    ),
    "coarse-probabilities": Canary(
        "probabilities are rounded to a coarser type",
        coarse_probabilities,
        lambda problem: (
            problem.dtype != "f32"
            and not (problem.mask or problem.softcap)
            and _some_row(problem, lambda first, end, seq_kv: end - first >= FEW_KEYS)
        ),
        distribution="cancelling",
    ),
    "coarse-sums": Canary(
        "sums over many keys are rounded to the output's type after each tile",
        coarse_sums,
        lambda problem: (
            problem.dtype != "f32"
            and not (problem.mask or problem.softcap)
            and _some_row(problem, lambda first, end, seq_kv: end - first >= MANY_KEYS)
        ),
        distribution="uniform",
    ),
}
"""All canaries by name; `problem` decides with `applies` which of them are to be refused."""
