"""Seeded random inputs of a problem, drawn from named distributions.

Each distribution looks for another kind of mistake; `DISTRIBUTIONS` names them all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from harness.problem.attention_problem import OPERANDS, AttentionProblem
from harness.problem.drawn_projections import draw_projections, draw_weights, uniform_draw
from harness.problem.dtypes import numpy_dtype
from harness.problem.heavy_keys import let_one_key_weigh_most
from harness.problem.hidden_maxima import let_hidden_keys_score_most
from harness.problem.infinite_scores import columns_to_hide, hide_runs_by_bias, sequence_keys
from harness.problem.late_maxima import let_late_keys_score_most
from harness.problem.mask_patterns import rows_of_one_key
from harness.problem.negative_logits import finite_mask, negative_logit
from harness.problem.pages import Paging
from harness.problem.projections import ProjectionInputs, plain_projections, projection_shapes
from harness.problem.random_masks import random_mask
from harness.problem.set_scores import LARGEST_FACTOR, cancelling_logits, cancelling_values, unit_query
from harness.system.errors import InputError
from harness.system.machine.placement import placement
from harness.system.machine.poison import poison

LARGEST_LOGIT = 100.0
"""Largest scaled score that `large-logits` reaches: exp(100) overflows float32."""

LARGER_WEIGHTS = ("value_weights", "output_weights")
"""Weights that are twice as large in the first turn of others: scores stay as large."""

ARRAYS = ("q", "k", "v", *OPERANDS)


@dataclass(frozen=True)
class Inputs:
    """The arrays of one problem, in the problem's dtype (mask: bool)."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None = None
    """Boolean, true where visible; broadcasts to [batch, heads, seq_q, seq_kv]."""
    bias: np.ndarray | None = None
    """Broadcasts like the mask."""
    sinks: np.ndarray | None = None
    """A logit of each head, `[heads]`."""
    projections: ProjectionInputs | None = None
    """Tokens and weights that q, k and v are projected from, where that is part of the problem; q, k and v
    are then the projections as the plain implementation has them."""
    paging: Paging | None = None
    """Where kernels find keys and values in pages, if they do; k and v are packed here nevertheless."""

    def as_given(self) -> "Inputs":
        """Return these inputs, q, k and v filled with NaN in place where code is to project them itself.

        Code that took them would leave the projections out, and be right and fast.
        """
        if self.projections is not None:
            for array in (self.q, self.k, self.v):
                poison(array)
        return self

    def as_expected(self, problem: AttentionProblem) -> "Inputs":
        """Return these inputs with q, k and v as the plain implementation projects them, where it does."""
        if self.projections is None:
            return self
        q, k, v = plain_projections(self.projections, problem)
        return replace(self, q=q, k=k, v=v)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, those that projections are made from among them."""
        named = {name: getattr(self, name) for name in ARRAYS}
        if self.projections is not None:
            named |= self.projections.arrays()
        return {name: array for name, array in named.items() if array is not None}

    def operands(self) -> dict[str, np.ndarray]:
        """Return those of `OPERANDS` that are there."""
        return {name: array for name in OPERANDS if (array := getattr(self, name)) is not None}

    def named_as_arguments(self) -> dict[str, np.ndarray]:
        """Return the arrays that kernels read, by the names of their arguments."""
        if self.projections is not None:
            return self.projections.arrays() | self.operands()
        return {"query": self.q, "key": self.k, "value": self.v} | self.operands()

    def buffers(self, problem: AttentionProblem) -> dict[str, np.ndarray]:
        """Return what kernels' arguments hold, by their names (`harness.codegen.payloads.arguments`)."""
        arrays = self.named_as_arguments()
        for name, kind in problem.operands().items():
            if name in arrays:
                arrays[name] = _as_large_as(name, arrays[name], kind.shape)
        if self.paging is not None:
            arrays |= {name: self.paging.pool(arrays[name]) for name in ("key", "value")}
        return arrays | lengths_of(problem, self.paging)


def lengths_of(problem: AttentionProblem, paging: Paging | None = None) -> dict[str, np.ndarray]:
    """Return the lengths and places of sequences that kernels read, i32, by the names of these arguments."""
    names = ("cu_seqlens_q", "cu_seqlens_kv", "kv_lengths")
    lengths = {name: getattr(problem, name) for name in names}
    arrays = {name: np.array(values, np.int32) for name, values in lengths.items() if values is not None}
    if paging is not None:
        del arrays["cu_seqlens_kv"]
        arrays |= paging.indices()
    return arrays


def _as_large_as(name: str, operand: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask or bias in the shape that the problem's kernels take, a smaller one repeated.

    Raises `InputError` for one that differs where kernels have one for all.
    """
    try:
        return np.broadcast_to(operand, shape)
    except ValueError as error:
        operand_shape, expected = list(operand.shape), list(shape)
        raise InputError(
            f"{name}: found shape {operand_shape}, generated kernels take what broadcasts to {expected}"
        ) from error


@dataclass(frozen=True)
class Distribution:
    """A named way to draw inputs."""

    summary: str
    """What it draws and which mistake it shows, in one line."""
    draw: Callable[[AttentionProblem, np.random.Generator], Inputs]
    """Draws float32 arrays (mask: bool); `make_inputs` rounds them to the problem's dtype."""


def make_inputs(problem: AttentionProblem, distribution: str = "normal", seed: int = 0) -> Inputs:
    """Draw the inputs of a problem; the same problem, distribution and seed give the same arrays.

    All arrays are C-contiguous.  Keys and values beyond `kv_lengths` are NaN: what a cache holds there is of
    no call.  Where the problem has them, mask and bias are of size 1 along the axes that they do not have,
    and `random_mask` draws the mask.  Raises `InputError` for an unknown distribution.
    """
    if distribution not in DISTRIBUTIONS:
        raise InputError(
            f"unknown input distribution {distribution!r}; expected one of {', '.join(DISTRIBUTIONS)}"
        )
    if problem.model_width is not None:
        return _projected_inputs(problem, distribution, np.random.default_rng(seed))
    drawn = DISTRIBUTIONS[distribution].draw(problem, np.random.default_rng(seed))
    _poison_unused(problem, drawn)
    sinks = _sinks(problem, distribution, np.random.default_rng(seed + 1))
    dtype = numpy_dtype(problem.dtype)
    return Inputs(
        q=np.ascontiguousarray(drawn.q, dtype),
        k=np.ascontiguousarray(drawn.k, dtype),
        v=np.ascontiguousarray(drawn.v, dtype),
        mask=drawn.mask,
        bias=None if drawn.bias is None else np.ascontiguousarray(drawn.bias, dtype),
        sinks=sinks,
    )


def guarded(drawn: Inputs) -> Inputs:
    """Return a copy of inputs, each array between bytes that nothing is to read.

    They lie at other addresses where these vary.
    """
    arrays, paging = drawn.arrays(), drawn.paging
    is_projected = drawn.projections is not None
    del drawn  # so that no more than one array is there twice, where nobody else has them
    for name in list(arrays):
        arrays[name] = placement.guarded(arrays.pop(name))
    own = {name: arrays.pop(name) for name in ARRAYS if name in arrays}
    return Inputs(**own, projections=ProjectionInputs(**arrays) if is_projected else None, paging=paging)


def _sinks(problem: AttentionProblem, distribution: str, generator: np.random.Generator) -> np.ndarray | None:
    """Draw a logit for each head that weighs about as much as all keys together, whatever scores are."""
    if not problem.sinks:
        return None
    logits = generator.standard_normal(problem.heads) + np.log(problem.seq_kv)
    if distribution == "negative-logits":
        logits += 2 * negative_logit(problem)
    return logits.astype(numpy_dtype(problem.dtype))


def _poison_unused(problem: AttentionProblem, drawn: Inputs) -> None:
    """Let keys and values that a padded batch entry does not have be NaN, in place."""
    for entry, length in enumerate(problem.kv_lengths or ()):
        drawn.k[entry, :, length:] = np.nan
        drawn.v[entry, :, length:] = np.nan


def _projected_inputs(problem: AttentionProblem, distribution: str, generator: np.random.Generator) -> Inputs:
    """Draw tokens and weights, and make Q, K and V of them, see `harness.problem.drawn_projections`."""
    drawn = draw_projections(problem, distribution, generator)
    if distribution == "large-logits":
        drawn.query_weights[:] *= np.float32(LARGEST_LOGIT / 4 / max(1.0, np.sqrt(problem.head_dim)))
    projections = drawn.astype(numpy_dtype(problem.dtype))
    q, k, v = (np.ascontiguousarray(array) for array in plain_projections(projections, problem))
    mask = random_mask(problem, generator) if problem.mask else None
    bias = None
    if problem.bias:
        normal = generator.standard_normal(problem.bias_shape, dtype=np.float32)
        values = finite_mask(problem) if distribution == "negative-logits" else normal
        bias = np.ascontiguousarray(values, numpy_dtype(problem.dtype))
    sinks = _sinks(problem, distribution, generator)
    return Inputs(q=q, k=k, v=v, mask=mask, bias=bias, sinks=sinks, projections=projections)


def other_operands(problem: AttentionProblem, seed: int, turn: int) -> dict[str, np.ndarray]:
    """Draw another mask, bias, sinks and weights by name, of these what a problem has.

    Those of each turn, from 1 on, are others, see `random_mask`.  In the first turn weights of V and of the
    output are larger as well: what code measured of the first ones does not fit.
    """
    generator, dtype = np.random.default_rng((seed, turn)), numpy_dtype(problem.dtype)
    drawn: dict[str, np.ndarray] = {}
    if problem.mask:
        drawn["mask"] = random_mask(problem, generator, turn)
    if problem.bias:
        drawn["bias"] = generator.standard_normal(problem.bias_shape, dtype=np.float32).astype(dtype)
    sinks = _sinks(problem, "normal", generator)
    if sinks is not None:
        drawn["sinks"] = sinks
    for name, shape in projection_shapes(problem).items():
        if name != "tokens":
            weights = draw_weights(shape, generator)
            is_larger = turn == 1 and name in LARGER_WEIGHTS
            drawn[name] = (np.float32(2) * weights if is_larger else weights).astype(dtype)
    return drawn


def _normal(problem: AttentionProblem, generator: np.random.Generator, turn: int = 0) -> Inputs:
    """Standard normal Q, K, V and bias; `turn` is that of the mask."""

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32)

    return Inputs(
        q=draw(problem.q_shape),
        k=draw(problem.k_shape),
        v=draw(problem.v_shape),
        mask=random_mask(problem, generator, turn) if problem.mask else None,
        bias=draw(problem.bias_shape) if problem.bias else None,
    )


def _uniform(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """Uniform Q, K, V and bias in [−1, 1), by the normal draw's order of arrays."""

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return uniform_draw(generator, shape, np.float32)

    return Inputs(
        q=draw(problem.q_shape),
        k=draw(problem.k_shape),
        v=draw(problem.v_shape),
        mask=random_mask(problem, generator) if problem.mask else None,
        bias=draw(problem.bias_shape) if problem.bias else None,
    )


def _large_logits(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """Normal inputs with Q scaled so that the largest scaled score of the first head is `LARGEST_LOGIT`.

    The first 64 queries of the head are looked at; others can be somewhat larger.  Some queries see late keys
    score most (`let_late_keys_score_most`).  Where there is a mask, those of them that it shows one key see
    that of their least score: the maximum over hidden keys, too, would leave nothing of it.  Where there is
    none, see `let_hidden_keys_score_most`; beside sinks nothing would be left of what such queries see.
    """
    drawn = _normal(problem, generator)
    largest = float(np.max(np.abs(_first_scores(problem, drawn.q, drawn.k)), initial=0.0))
    if largest == 0:
        return drawn
    enlarged = drawn.q * np.float32(min(LARGEST_LOGIT / largest, LARGEST_FACTOR))
    let_late_keys_score_most(problem, enlarged, drawn.k)
    if drawn.mask is None and not problem.sinks:
        let_hidden_keys_score_most(problem, enlarged, drawn.k)
    if drawn.mask is not None and min(drawn.mask.shape[-2:]) > 1:
        _show_least_scores(problem, drawn.mask[0, 0], _first_scores(problem, enlarged, drawn.k))
    return replace(drawn, q=enlarged)


def _first_scores(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the scaled scores of the first 64 queries of the first head, `[queries, seq_kv]`."""
    of_head, keys = (q[:, 0], k[:, 0]) if problem.is_packed else (q[0, 0], k[0, 0])
    return np.float32(problem.scale) * (of_head[:64] @ keys.T)


def _show_least_scores(problem: AttentionProblem, mask: np.ndarray, scores: np.ndarray) -> None:
    """Let queries that see one key see that of the least of their scores, in place.

    `mask` is `[seq_q, seq_kv]`, `scores` are `[queries, seq_kv]` of the first queries.
    """
    seq_q, seq_kv = problem.sequence_lengths()[0]
    first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
    for row in rows_of_one_key(min(len(scores), len(mask))):
        seen = slice(int(first[row]), int(end[row]))
        if np.count_nonzero(mask[row, seen]) == 1:
            mask[row, seen] = False
            mask[row, seen.start + int(np.argmin(scores[row, seen]))] = True


def _constant(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """All rows of Q alike, all rows of K alike, a bias of one value; V stays random, the mask too."""
    drawn = _normal(problem, generator, turn=1)
    return replace(
        drawn,
        q=np.full_like(drawn.q, 0.5),
        k=np.full_like(drawn.k, -0.25),
        bias=None if drawn.bias is None else np.full_like(drawn.bias, 0.75),
    )


def _minus_infinity_columns(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """Normal inputs where every seventh key has a score of exactly −inf for every query.

    Through the bias where the problem has one, else through an infinite component of those keys that meets
    a component of Q bounded away from 0.  (A softcap turns the latter into −softcap.)  A query that sees any
    key sees one with a finite score.
    """
    drawn = _normal(problem, generator)
    columns = columns_to_hide(problem, drawn.mask)
    if drawn.bias is not None and drawn.bias.shape[-1] == problem.seq_kv:
        drawn.bias[..., columns] = -np.inf
        hide_runs_by_bias(problem, drawn.bias, drawn.mask)
        return drawn
    if np.float32(problem.scale) == 0:  # No finite product becomes infinite, and 0 · −inf is NaN.
        return drawn
    drawn.q[..., 0] = np.abs(drawn.q[..., 0]) + 0.5
    for keys in sequence_keys(problem, drawn.k):
        keys[columns[: len(keys)], :, 0] = -np.inf if problem.scale > 0 else np.inf
    return drawn


def _negative_logits(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """Scores of `negative_logit` in rows of odd number and of twice as much in the others; V stays random.

    With a bias, Q is 0 and the bias is such a logit, or the least number, see `finite_mask`.  Every dtype
    holds them, so that scores which are stored lose nothing.  `normal` where there is no bias and the
    problem's scale leaves no such Q.
    """
    drawn = _normal(problem, generator, turn=3)
    if drawn.bias is not None:
        return replace(drawn, q=np.zeros_like(drawn.q), bias=finite_mask(problem))
    unit = unit_query(problem)
    if unit is None:
        return drawn
    q, k = np.zeros_like(drawn.q), np.zeros_like(drawn.k)
    q[..., 0] = unit * (2 - _positions(drawn.q, problem) % 2)
    k[..., 0] = negative_logit(problem)
    return replace(drawn, q=q, k=k)


def _cancelling(problem: AttentionProblem, generator: np.random.Generator) -> Inputs:
    """Values that cancel between keys of probability 1 and of a little more than ½, relative to the largest.

    A coarser format's errors of probabilities add up where the values cancel, and grow with the square root
    of the keys beside the output.  The dtype itself rounds them as often up as down.  Some queries see one
    key that weighs most instead, see `let_one_key_weigh_most`.  `normal` where the scale leaves no such Q.
    """
    drawn = _normal(problem, generator, turn=2)
    unit = unit_query(problem)
    if unit is None:
        return drawn
    is_light = _positions(drawn.k, problem) % 2 == 1
    logits = cancelling_logits(problem, is_light, generator)
    q, k, v = np.zeros_like(drawn.q), np.zeros_like(drawn.k), drawn.v / 4
    q[..., 0] = unit
    k[..., 0] = logits.astype(numpy_dtype(problem.dtype))
    if problem.head_dim > 1:  # What the first component of K loses by rounding.
        q[..., 1] = unit
        k[..., 1] = logits - k[..., 0]
    let_one_key_weigh_most(problem, q, k, generator)
    v += cancelling_values(is_light)[..., None]
    bias = None if drawn.bias is None else np.zeros_like(drawn.bias)
    return replace(drawn, q=q, k=k, v=v, bias=bias)


def _positions(array: np.ndarray, problem: AttentionProblem) -> np.ndarray:
    """Return the position of each row of Q or K along its axis of queries or keys, without the last axis."""
    axis = 0 if problem.is_packed else 2
    return np.indices(array.shape[:-1], sparse=True)[axis] + np.zeros(array.shape[:-1], np.int64)


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution("standard normal: the usual benchmark input", _normal),
    "uniform": Distribution("uniform in [-1, 1): small scores, an almost even softmax", _uniform),
    "large-logits": Distribution(
        "scaled scores up to about ±100: a softmax without its maximum subtracted overflows", _large_logits
    ),
    "constant": Distribution(
        "equal scores: the output is the mean of the visible values, padding that leaks in shows", _constant
    ),
    "minus-infinity-columns": Distribution(
        "every seventh key scores exactly -inf: NaN from inf - inf or 0 times inf shows",
        _minus_infinity_columns,
    ),
    "negative-logits": Distribution(
        "every score is -1280 or less, a bias the least number: a running maximum from -1000 leaves nothing",
        _negative_logits,
    ),
    "cancelling": Distribution(
        "values cancel while errors of probabilities add up: probabilities in too coarse a type show",
        _cancelling,
    ),
}
