"""Kernels that go wrong beside a mask are refused, whichever queries and keys that concerns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.oracle.expected import expect, same_precision
from harness.oracle.reference import Head, heads, masked_scores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import change_operands
from harness.problem.inputs import Inputs, make_inputs

SKIPS = {
    "ends its loop",
    "map of tiles of the first entry",
    "map of tiles of the first head",
    "map of tiles of another entry and head",
    "map of tiles of the first call",
    "writes in the last tile",
    "writes what it has seen",
}
"""Mistakes of kernels that skip tiles which a mask hides."""


def careless(inputs: Inputs, problem: AttentionProblem, mistake: str, first: Inputs) -> np.ndarray:
    """Go over tiles of 16 queries and 32 keys, with a mistake where a mask hides or shows whole ones."""
    output = np.full(problem.output_shape, 7, np.float32)
    of_first_call = list(heads(first, problem))
    all_heads = list(heads(inputs, problem))
    for number, head in enumerate(all_heads):
        maps = {
            "map of tiles of the first entry": all_heads[number % problem.heads],
            "map of tiles of the first head": all_heads[number - number % problem.heads],
            "map of tiles of another entry and head": all_heads[number // problem.heads + 2 * number % 4],
            "map of tiles of the first call": of_first_call[number],
        }
        tile_map = maps.get(mistake, head).mask
        for start in range(0, problem.seq_q, 16):
            rows = slice(start, min(start + 16, problem.seq_q))
            _rows(output[head.index], head, rows, tile_map, problem, mistake)
    return output


def _rows(
    output: np.ndarray,
    head: Head,
    rows: slice,
    tile_map: np.ndarray,
    problem: AttentionProblem,
    mistake: str,
) -> None:
    """Write some rows `[queries, head_dim_v]` of one head's output."""
    count = len(output[rows])
    peak, total = np.full(count, -np.inf, np.float32), np.zeros(count, np.float32)
    accumulator = np.zeros((count, head.v.shape[1]), np.float32)
    starts, visited = range(0, len(head.k), 32), 0
    for first in starts:
        keys = slice(first, min(first + 32, len(head.k)))
        if mistake in SKIPS and not tile_map[rows, keys].any():
            if mistake == "ends its loop":
                break
            continue
        visited += 1
        scores = _scores(head, rows, keys, problem, mistake)
        products = np.float32(problem.scale) * (head.q[rows] @ head.k[keys].T)
        seen = products if mistake == "maximum of hidden keys" else scores
        new_peak = np.maximum(peak, seen.max(axis=1))
        safe = new_peak if mistake == "inf - inf" else np.where(np.isneginf(new_peak), 0, new_peak)
        with np.errstate(invalid="ignore"):
            weights, correction = np.exp(scores - safe[:, None]), np.exp(peak - safe)
        total = correction * total + weights.sum(axis=1)
        accumulator = correction[:, None] * accumulator + weights @ head.v[keys]
        peak = new_peak
        if mistake == "writes in the last tile" and first == starts[-1]:
            output[rows] = accumulator / np.where(total > 0, total, 1)[:, None]
    if mistake != "writes in the last tile" and (visited or mistake != "writes what it has seen"):
        divisor = total if mistake == "0/0" else np.where(total > 0, total, 1)
        with np.errstate(invalid="ignore"):
            output[rows] = accumulator / divisor[:, None]


def _scores(head: Head, rows: slice, keys: slice, problem: AttentionProblem, mistake: str) -> np.ndarray:
    """Return the scores of a tile, with a mistake where the mask shows all of it."""
    assert head.mask is not None
    tile = head.mask[rows, keys]
    if mistake == "whole by its first query" and tile[0].all():
        head = replace(head, mask=None)
    if mistake == "whole by its last query" and tile[-1].all():
        head = replace(head, mask=None)
    if mistake == "no bias where all is visible" and tile.all():
        head = replace(head, bias=None)
    if mistake == "no causality where all is visible" and tile.all():
        problem = problem.model_copy(update={"causal": False})
    scores, _ = masked_scores(head, rows, problem, head.q[rows], head.k, keys)
    return scores


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("fields", [{"causal": True}, {"window": (9, 0)}])
@pytest.mark.parametrize("quarter", range(4))
def test_no_quarter_of_the_queries_is_without_causality_or_window_beside_a_mask(
    quarter: int, fields: dict[str, Any], distribution: str
) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=16, mask=True, **fields)
    inputs = make_inputs(problem, distribution)
    expected, rows = expect(inputs, problem), slice(16 * quarter, 16 * quarter + 16)
    right = same_precision(inputs, problem)
    everywhere = same_precision(inputs, problem.model_copy(update={"causal": False, "window": None}))
    for wrong in (everywhere, np.zeros_like(right)):
        output = right.copy()
        output[:, :, rows] = wrong[:, :, rows]
        assert not expected.check(output).ok
    assert expected.check(right).ok


MISTAKES = {
    "none": (),
    "inf - inf": ("qk", "bhqk", "k", "bk"),
    "0/0": ("qk", "bhqk", "bk"),
    "ends its loop": ("qk", "bhqk", "k", "bk"),
    "maximum of hidden keys": ("qk", "bhqk"),
    "writes in the last tile": ("qk", "bhqk", "k", "bk"),
    "writes what it has seen": ("qk", "bhqk", "q", "bk"),
    "whole by its first query": ("qk", "bhqk"),
    "whole by its last query": ("qk", "bhqk"),
    "no bias where all is visible": ("qk", "bhqk", "k", "bk"),
    "no causality where all is visible": ("qk", "bhqk", "k", "bk"),
    "map of tiles of the first entry": ("bhqk", "bqk", "bk"),
    "map of tiles of the first head": ("bhqk", "hqk", "hk"),
    "map of tiles of another entry and head": ("bhqk",),
    "map of tiles of the first call": ("qk", "bhqk", "k", "bk", "q"),
}
"""Mistakes that a mask of these axes is to show."""


@pytest.mark.parametrize("seq", [128, 200])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_kernels_that_go_wrong_beside_whole_tiles_are_refused(mistake: str, seq: int) -> None:
    """By the two masks that the checks of one distribution have, or by the largest scores."""
    for axes in ["qk", "bhqk", "bqk", "hqk", "k", "bk", "hk", "q", "bq"]:
        causal = "causality" in mistake or axes == "qk"
        problem = AttentionProblem(
            batch=2, heads=2, seq_q=seq, head_dim=16, mask=True, mask_axes=axes, bias=True, causal=causal
        )
        verdicts = []
        for distribution in ["normal"] + ["large-logits"] * (mistake == "maximum of hidden keys"):
            first, inputs = (make_inputs(problem, distribution) for _ in range(2))
            verdicts.append(expect(first, problem).check(careless(first, problem, mistake, first)).ok)
            change_operands(inputs, problem, seed=0)
            verdicts.append(expect(inputs, problem).check(careless(inputs, problem, mistake, first)).ok)
        if mistake == "none":
            assert all(verdicts), axes
        elif axes in MISTAKES[mistake]:
            assert not all(verdicts), axes


BESIDE_INFINITE_BIAS = {
    "inf - inf": ("qk", "bhqk", "hqk", "bk"),
    "map of tiles of the first entry": ("bhqk", "bqk", "bk"),
    "map of tiles of the first head": ("bhqk", "hqk", "hk"),
    "writes in the last tile": ("qk", "bhqk", "hqk", "bk"),
}


@pytest.mark.parametrize("mistake", ["none", *BESIDE_INFINITE_BIAS])
def test_kernels_that_go_wrong_beside_tiles_of_a_bias_of_minus_infinity_are_refused(mistake: str) -> None:
    for axes in ["qk", "bhqk", "bqk", "hqk", "bk", "hk"]:
        problem = AttentionProblem(batch=2, heads=2, seq_q=128, head_dim=16, bias=True, bias_axes=axes)
        inputs = make_inputs(problem, "minus-infinity-columns")
        assert inputs.bias is not None
        masked = replace(inputs, mask=~np.isneginf(inputs.bias))
        ok = expect(inputs, problem).check(careless(masked, problem, mistake, masked)).ok
        if mistake == "none" or axes in BESIDE_INFINITE_BIAS[mistake]:
            assert ok == (mistake == "none"), axes
