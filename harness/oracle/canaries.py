"""Wrong outputs that the checker must refuse at every sequence length: proof that it is not vacuous.

Each is what a typical mistake in a kernel leaves behind.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from harness.oracle.expected import Expected, same_precision
from harness.oracle.reference import Head, heads, masked_scores, plain_rows, visible_keys
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.problem.set_scores import negative_logit

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

Make = Callable[[Inputs, AttentionProblem, Expected], np.ndarray]
"""Returns the wrong output in the problem's output shape and dtype."""


@dataclass(frozen=True)
class Canary:
    """A named wrong output."""

    summary: str
    make: Make
    applies: Callable[[AttentionProblem], bool]
    """Whether the mistake changes this problem's output for inputs of distinct rows."""
    distribution: str = "normal"


def mean_of_values(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return the mean of the visible values."""

    def mean(head: Head, rows: slice) -> np.ndarray:
        scores, values = _scores_and_values(head, rows, problem)
        visible = np.isfinite(scores).astype(np.float64)
        return visible @ values / np.maximum(visible.sum(axis=1, keepdims=True), 1)

    return _of_blocks(mean, inputs, problem)


def scale_left_out(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return attention with scale 1 in some blocks of rows; the others are right, which is harder to see."""
    output = _right(expected, problem)
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


def tile_skipped(tile: Callable[[int], slice]) -> Make:
    """Return what makes the output of a loop over KV tiles that leaves one out, `tile(seq_kv)`."""

    def skip(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
        return _without(lambda head, _: (tile(len(head.k)), np.array(True)), inputs, problem, expected)

    return skip


def heads_swapped(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return the right rows with those of the first two heads exchanged."""
    output = _right(expected, problem)
    output[:, [0, 1]] = output[:, [1, 0]]
    return output


def last_rows_times(factor: float) -> Make:
    """Return what makes a right output but for the last rows of each head, which are multiplied."""

    def multiply(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
        output = _right(expected, problem)
        for head in heads(inputs, problem):
            output[head.index][-LAST_ROWS:] *= output.dtype.type(factor)
        return output

    return multiply


def maximum_too_high(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when a running maximum starts too high: nothing where all exponentials are 0.

    It starts at `HIGH_START`, or at 0 where the problem's logits are not as far below 0.
    """
    output = _right(expected, problem)
    start = HIGH_START if negative_logit(problem) < HIGH_START else 0.0
    output[expected.log_sum_exp < start + np.log(np.finfo(np.float32).smallest_subnormal)] = 0
    return output


def masks_of_numbers(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when hidden pairs have the score `FINITE_FILL`; a row that sees no key is 0."""

    def fill(head: Head, rows: slice) -> np.ndarray:
        scores, values = _scores_and_values(head, rows, problem, slice(0, len(head.k)))
        is_hidden = np.isneginf(scores)
        scores[is_hidden & ~is_hidden.all(axis=1, keepdims=True)] = FINITE_FILL
        weights, total = _weights(scores)
        return weights @ values / total

    return _of_blocks(fill, inputs, problem)


def coarse_probabilities(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return attention with probabilities in a type of `LOST_BITS` bits less than the problem's."""
    bits = 1 - int(np.log2(float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps))) - LOST_BITS

    def round_weights(head: Head, rows: slice) -> np.ndarray:
        scores, values = _scores_and_values(head, rows, problem)
        weights, total = _weights(scores)
        mantissa, exponent = np.frexp(weights)
        return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits) @ values / total

    return _of_blocks(round_weights, inputs, problem)


def coarse_sums(inputs: Inputs, problem: AttentionProblem, expected: Expected) -> np.ndarray:
    """Return what comes out when the product with V is rounded to the dtype after each of its tiles."""
    output, dtype = _right(expected, problem), numpy_dtype(problem.dtype)
    for head, rows in _some_blocks(inputs, problem):
        scores, values = _scores_and_values(head, rows, problem)
        weights, total = _weights(scores)
        product = np.zeros((len(scores), values.shape[1]))
        for first in range(0, len(values), SUMMED_KEYS):
            tile = slice(first, first + SUMMED_KEYS)
            product = (product + weights[:, tile] @ values[tile]).astype(dtype).astype(np.float64)
        output[head.index][rows] = product / total
    return output


def _right(expected: Expected, problem: AttentionProblem) -> np.ndarray:
    return expected.reference.astype(numpy_dtype(problem.dtype))


def _some_blocks(inputs: Inputs, problem: AttentionProblem) -> list[tuple[Head, slice]]:
    blocks = [(head, rows) for head in heads(inputs, problem) for rows in head.blocks()]
    chosen = np.unique(np.linspace(0, len(blocks) - 1, WRONG_BLOCKS).round().astype(int))
    return [blocks[number] for number in chosen]


def _of_blocks(
    make: Callable[[Head, slice], np.ndarray], inputs: Inputs, problem: AttentionProblem
) -> np.ndarray:
    output = np.zeros(problem.output_shape)
    for head in heads(inputs, problem):
        for rows in head.blocks():
            output[head.index][rows] = make(head, rows)
    return output.astype(numpy_dtype(problem.dtype))


def _scores_and_values(
    head: Head, rows: slice, problem: AttentionProblem, keys: slice | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact scores of a block of rows, by default of all keys that it sees, and V of these."""
    q, k = head.q[rows].astype(np.float64), head.k.astype(np.float64)
    scores, keys = masked_scores(head, rows, problem, q, k, keys)
    return scores, head.v[keys].astype(np.float64)


def _weights(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exponentials of scores, and by what to divide what they weigh."""
    largest = scores.max(axis=1, initial=-np.inf, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
    total = weights.sum(axis=1, keepdims=True)
    return weights, np.where(total > 0, total, 1.0)


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

    def rest_of(head: Head, rows: slice) -> np.ndarray:
        keys, pairs = left_out(head, rows)
        scores, values = _scores_and_values(head, rows, problem, keys)
        log_sum_exp = expected.log_sum_exp[head.index][rows, None]
        weights = np.exp(scores - np.where(np.isneginf(log_sum_exp), 0.0, log_sum_exp)) * pairs
        kept = 1.0 - weights.sum(axis=1, keepdims=True)
        rest = expected.reference[head.index][rows] - weights @ values
        return np.where(kept > 1e-9, rest / np.maximum(kept, 1e-9), 0.0)

    return _of_blocks(rest_of, inputs, problem)


def tile_at(share: float) -> Callable[[int], slice]:
    """Return what gives the keys of the tile that so large a share of the keys lies before."""

    def tile(seq_kv: int) -> slice:
        width = TILE if seq_kv >= 2 * TILE else max(1, seq_kv // 4)
        start = int(seq_kv * share) // width * width
        return slice(start, min(start + width, seq_kv))

    return tile


FIRST_TILE, MIDDLE_TILE = tile_at(0), tile_at(0.5)


def _some_row(problem: AttentionProblem, sees: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> bool:
    """Return whether `sees(first, end, seq_kv)` is true of some row's visible range of keys."""
    return any(
        bool(sees(*problem.visible_range(np.arange(seq_q), seq_q, seq_kv), seq_kv).any())
        for seq_q, seq_kv in problem.sequence_lengths()
    )


def _sees_a_key(problem: AttentionProblem) -> bool:
    return problem.visible_pairs() > 0


def _sees_keys(problem: AttentionProblem, count: int) -> bool:
    return _some_row(problem, lambda first, end, seq_kv: end - first >= count)


def _has_logits_below(bound: float, problem: AttentionProblem) -> bool:
    """Return whether `negative-logits` has logits below a bound in every row that sees a key."""
    is_capped = problem.softcap is not None and not problem.bias
    return not (problem.mask or is_capped) and negative_logit(problem) < bound


def _is_rounded(problem: AttentionProblem, keys: int) -> bool:
    """Return whether what is rounded too coarsely changes the output of rows of so many keys."""
    return problem.dtype != "f32" and not (problem.mask or problem.softcap) and _sees_keys(problem, keys)


def _sees_tile(tile: Callable[[int], slice]) -> Callable[[AttentionProblem], bool]:
    """Return a test of whether some row sees a key of this tile."""

    def sees(first: np.ndarray, end: np.ndarray, seq_kv: int) -> np.ndarray:
        skipped = tile(seq_kv)
        return np.minimum(end, skipped.stop) > np.maximum(first, skipped.start)

    return lambda problem: _some_row(problem, sees)


CANARIES: dict[str, Canary] = {
    "zeros": Canary(
        "nothing was computed",
        lambda inputs, problem, expected: np.zeros(problem.output_shape, numpy_dtype(problem.dtype)),
        _sees_a_key,
    ),
    "mean-of-values": Canary(
        "the scores are ignored", mean_of_values, lambda problem: _sees_keys(problem, 2)
    ),
    "scale-left-out": Canary(
        "the scores are not scaled",
        scale_left_out,
        lambda problem: problem.scale != 1 and _sees_keys(problem, 2),
    ),
    "sinks-left-out": Canary(
        "weights add up to 1 although sinks take a share",
        lambda inputs, problem, expected: same_precision(replace(inputs, sinks=None), problem),
        lambda problem: problem.sinks and _sees_a_key(problem),
    ),
    "mask-off-by-one": Canary("the last visible key is missed", mask_off_by_one, _sees_a_key),
    "first-tile-skipped": Canary(
        "the first KV tile is skipped", tile_skipped(FIRST_TILE), _sees_tile(FIRST_TILE)
    ),
    "middle-tile-skipped": Canary("a KV tile is skipped", tile_skipped(MIDDLE_TILE), _sees_tile(MIDDLE_TILE)),
    "heads-swapped": Canary(
        "two heads are exchanged",
        heads_swapped,
        lambda problem: problem.heads > 1 and _sees_keys(problem, 2),
    ),
    "stale-output": Canary(
        "the output is that of an earlier call, with V negated",
        lambda inputs, problem, expected: -_right(expected, problem),
        _sees_a_key,
    ),
    "last-rows-stale": Canary("the last rows are those of an earlier call", last_rows_times(-1), _sees_a_key),
    "last-rows-unwritten": Canary(
        "the last rows were never written, and hold the poison", last_rows_times(np.nan), _sees_a_key
    ),
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
        lambda problem: _is_rounded(problem, FEW_KEYS),
        distribution="cancelling",
    ),
    "coarse-sums": Canary(
        "sums over many keys are rounded to the output's type after each tile",
        coarse_sums,
        lambda problem: _is_rounded(problem, MANY_KEYS),
        distribution="uniform",
    ),
}
"""All canaries by name; `problem` decides with `applies` which of them are to be refused."""
