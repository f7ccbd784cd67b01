"""Scores that inputs set one by one: a component of Q that is the same everywhere meets one of K.

Libraries make a bias of a mask whose hidden pairs have the least finite number of the dtype, and whole rows
of it where padding is queried.  A running maximum starts below such numbers, and what hides a pair is −∞.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype

LARGEST_FACTOR = 4096.0
"""Most that a component of Q is, or is multiplied by, so that it fits into f16 however small the scale is."""

LOWEST_LOGIT = -16384.0
"""Largest logit of `negative-logits`: every dtype holds it and twice as much, and −10⁴ is far above it."""
LOGIT_OF_F16 = -1280.0
"""The same of products of f16: those stored before they are scaled stay in its range."""
LOGIT_BESIDE_SINKS = -128.0
"""The same of products of f16 or bf16 that a sink is to weigh as much as: stored, they lose little."""

COARSE_STEPS = 8
"""`cancelling` shows probabilities that are rounded to this many times the dtype's own steps."""

LATE_SCORE = 100.0
"""About the scaled score of the last keys of a sequence, for some queries."""
LATE_KEY, EARLY_KEY = np.float32(2), np.float32(-0.5)
"""The second component of late keys, and of all others: a score is its product with that of Q."""
LATE_SHARE = 8
"""One key of so many comes late."""
EVERY_LATE = 4
"""One query of so many sees that late keys score more."""

HIDDEN_SCORE = 60.0
"""About the scaled score of hidden keys, and minus that of visible ones."""
HIDDEN_KEY = np.float32(2)
"""The first component of keys, or minus that: such a score is its product with that of Q."""
LEAST_BLOCK = 8
"""Keys one after another that have the same component, at least, where there is one sequence."""
EVERY_HIDDEN = 4
"""One query of so many sees that keys of other sequences score more."""

HEAVY, SPREAD = 2, 3
"""Components of K: of the heavy key, and random, so that sums are not all rounded the same way."""
SPREAD_OF_OTHERS = 0.5
"""Standard deviation of the scores of others."""
LIGHTER = (1.0, 3.0)
"""Others weigh exp(−1) or exp(−3) as much together as the heavy key, in turn."""
EVERY_HEAVY = 4
"""One query of so many sees a heavy key; all others see what was drawn."""
FEWEST_OTHERS = 3
"""With fewer other keys none of them is light."""


def unit_query(problem: AttentionProblem) -> np.float32 | None:
    """Return what a component of Q must be for K's to be the scaled score; None if it would be too large."""
    if abs(problem.scale) * LARGEST_FACTOR < 1:
        return None
    return np.float32(1 / problem.scale)


def negative_logit(problem: AttentionProblem) -> float:
    """Return the largest logit of the rows of `negative-logits`, but for the pairs that a bias hides."""
    if problem.bias or problem.dtype == "f32":
        return LOWEST_LOGIT
    if problem.sinks:
        return LOGIT_BESIDE_SINKS
    return LOGIT_OF_F16 if problem.dtype == "f16" else LOWEST_LOGIT


def finite_mask(problem: AttentionProblem) -> np.ndarray:
    """Return a bias, float32: the least number of the dtype where it hides a pair, elsewhere `LOWEST_LOGIT`.

    In turn it hides the first half of a row, as padding on the left does, all of the row, and every third
    key.  With scores of 0, whatever a row sees of one value weighs the same.
    """
    shape = problem.bias_shape
    row = np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1) % 3
    key = np.arange(shape[-1])
    hides = np.where(row == 0, key < shape[-1] // 2, (row == 1) | (key % 3 == 1))
    least = float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).min)
    return np.where(hides, least, LOWEST_LOGIT).astype(np.float32)


def cancelling_logits(
    problem: AttentionProblem, is_light: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return logits of keys, of a probability of a little more than ½ for light ones, and of 1 for others.

    Every probability of ½·(1 + x) lies in the upper half of what a coarser format rounds down to ½.
    """
    midpoint = COARSE_STEPS / 2 * float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps)
    share = generator.uniform(0.55, 0.9, is_light.shape)
    return np.where(is_light, np.log(0.5 * (1 + share * midpoint)), 0.0)


def cancelling_values(is_light: np.ndarray) -> np.ndarray:
    """Return what values are that cancel between light keys and others."""
    return np.where(is_light, -2, 1)


@dataclass(frozen=True)
class Sequence:
    """Views of Q and K of one sequence, `[heads, seq, head_dim]`, and which keys each query sees."""

    queries: np.ndarray
    keys: np.ndarray
    first: np.ndarray
    """The first key of each query."""
    end: np.ndarray
    """The key behind the last one of each query."""

    @property
    def number_from_the_last(self) -> np.ndarray:
        """Of each query, other ones by head, `[heads, seq_q]`."""
        heads, seq_q = self.queries.shape[:2]
        return np.arange(seq_q)[::-1] + np.arange(heads)[:, None]


def sequences_of(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> Iterator[Sequence]:
    """Yield the sequences of a batch, padded or packed."""
    starts_q, starts_kv = problem.cu_seqlens_q, problem.cu_seqlens_kv
    for entry, (seq_q, seq_kv) in enumerate(problem.sequence_lengths()):
        if starts_q is None or starts_kv is None:
            queries, keys = q[entry], k[entry, :, :seq_kv]
        else:
            queries = q[starts_q[entry] : starts_q[entry] + seq_q].swapaxes(0, 1)
            keys = k[starts_kv[entry] : starts_kv[entry] + seq_kv].swapaxes(0, 1)
        yield Sequence(queries, keys, *problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv))


def let_late_keys_score_most(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> None:
    """Let some queries see late keys that score `LATE_SCORE`, and all before them minus a fourth, in place.

    Code that keeps the maximum of its first tile is right as long as later scores are little more: beyond 88,
    their exponentials overflow f32.  Does nothing where the scale leaves no such Q, or a head has one
    component alone.  Late keys score exactly the same: rounded scores add nothing to what is allowed.
    """
    if abs(problem.scale) * LARGEST_FACTOR < LATE_SCORE / LATE_KEY or q.shape[-1] < 2:
        return
    component = np.float32(LATE_SCORE / float(LATE_KEY) / problem.scale)
    for sequence in sequences_of(problem, q, k):
        seq_kv = sequence.keys.shape[1]
        begin = seq_kv - -(-seq_kv // LATE_SHARE)
        sequence.keys[..., 1] = np.where(np.arange(seq_kv) < begin, EARLY_KEY, LATE_KEY)
        chosen = (sequence.first < begin) & (sequence.end > begin)
        chosen = chosen & (sequence.number_from_the_last % EVERY_LATE == 0)
        sequence.queries[chosen] = 0
        sequence.queries[chosen, 1] = component


def let_hidden_keys_score_most(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> None:
    """Let keys hidden from some queries score about `HIDDEN_SCORE`, visible ones minus that, in place.

    Code that takes the maximum over them as well is right as long as that is little more: beyond about 100,
    exponentials of all that is visible are 0.  Does nothing where the scale leaves no such Q, or causality,
    windows and lengths hide nothing.  Visible keys score exactly the same, as late ones do.
    """
    if abs(problem.scale) * LARGEST_FACTOR < HIDDEN_SCORE / HIDDEN_KEY:
        return
    component = np.float32(HIDDEN_SCORE / float(HIDDEN_KEY) / problem.scale)
    sequences = [sequence for sequence in sequences_of(problem, q, k) if sequence.keys.shape[1]]
    if problem.is_packed and len(sequences) == 1:
        return
    for number, sequence in enumerate(sequences):
        first, end, seq_kv = sequence.first, sequence.end, sequence.keys.shape[1]
        if problem.is_packed:
            signs = np.full(seq_kv, 1 - 2 * (number % 2))
            rows = (first < end) & ((np.arange(len(first)) + number) % EVERY_HIDDEN == 1)
        else:
            block, rows = _block_of_keys(first, end, seq_kv)
            if not rows.any():
                continue
            signs = 1 - 2 * (np.arange(seq_kv) // block % 2)
        sequence.keys[..., 0] = HIDDEN_KEY * signs
        sequence.queries[:, rows] = 0
        sequence.queries[:, rows, 0] = -component * signs[first[rows]]


def _block_of_keys(first: np.ndarray, end: np.ndarray, seq_kv: int) -> tuple[int, np.ndarray]:
    """Return how many keys have the same sign, so that queries see one sign alone, and which queries do."""
    block = LEAST_BLOCK
    while block < seq_kv:
        rows = (first < end) & (first // block == (end - 1) // block)
        if rows.any():
            return block, rows
        block *= 2
    return block, np.zeros(len(first), bool)


def let_one_key_weigh_most(
    problem: AttentionProblem, q: np.ndarray, k: np.ndarray, generator: np.random.Generator
) -> None:
    """Let the first key weigh most for some queries, and all others about the same, in place.

    Xiao et al., *Efficient Streaming Language Models with Attention Sinks* (2024), found such keys in most
    models.  Code that leaves small probabilities out is right where few keys weigh most, or all weigh the
    same.  Does nothing where the scale leaves no such Q, or a head has too few components.
    """
    unit = unit_query(problem)
    if unit is None or q.shape[-1] <= SPREAD:
        return
    for sequence in sequences_of(problem, q, k):
        queries, keys, end = sequence.queries, sequence.keys, sequence.end
        from_the_last = sequence.number_from_the_last
        chosen = (sequence.first == 0) & (end > FEWEST_OTHERS) & (from_the_last % EVERY_HEAVY == 1)
        lighter = np.where(from_the_last // EVERY_HEAVY % 2 == 0, *LIGHTER)
        components = unit * (np.log(np.maximum(end - 1, 1)) + lighter)
        chosen &= np.abs(components) <= LARGEST_FACTOR
        keys[..., HEAVY] = np.arange(keys.shape[1]) == 0
        queries[chosen] = 0
        queries[chosen, HEAVY] = components[chosen]
        keys[:, 1:, SPREAD] = generator.standard_normal(keys[:, 1:, 0].shape, np.float32)
        queries[chosen, SPREAD] = unit * np.float32(SPREAD_OF_OTHERS)
