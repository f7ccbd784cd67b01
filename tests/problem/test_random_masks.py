"""Masks and biases of −inf hide and show whole tiles, other ones by entry, head and turn."""

import itertools

import numpy as np
import pytest

from harness.oracle.expected import reference
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import turns_of_operands
from harness.problem.inputs import make_inputs, other_operands
from harness.problem.random_masks import random_mask

TILE_Q, TILE_KV = 16, 32


def tiles(mask):
    """Of tiles of a mask `[…, seq_q, seq_kv]`, whether all of each is visible, and whether any is."""
    queries, keys = mask.shape[-2:]
    tile_q, tile_kv = min(TILE_Q, queries), min(TILE_KV, keys)
    grid = mask.reshape(*mask.shape[:-2], queries // tile_q, tile_q, keys // tile_kv, tile_kv)
    return grid.all(axis=(-3, -1)), grid.any(axis=(-3, -1))


def masks(axes, seq_q=128, seq_kv=256, **fields):
    """All masks of the checks of a distribution."""
    problem = AttentionProblem(
        batch=2, heads=2, seq_q=seq_q, seq_kv=seq_kv, head_dim=8, mask=True, mask_axes=axes, **fields
    )
    others = (other_operands(problem, 0, turn)["mask"] for turn in turns_of_operands(problem))
    return [make_inputs(problem).mask, *others]


@pytest.mark.parametrize("axes", ["qk", "bqk", "bhqk", "k", "bk"])
def test_tiles_are_hidden_and_shown_whole_first_last_and_between(axes):
    found = [tiles(mask) for mask in masks(axes)]
    hidden = np.concatenate([~shows.reshape(-1, shows.shape[-1]) for _, shows in found])
    whole = np.concatenate([is_whole.reshape(-1, is_whole.shape[-1]) for is_whole, _ in found])
    assert whole.any()
    of_seeing_queries = hidden[~hidden.all(axis=1)]
    assert of_seeing_queries[:, 0].any()
    assert of_seeing_queries[:, -1].any()
    assert any(np.flatnonzero(row)[0] > 0 and not row[-1] for row in of_seeing_queries if row.any())
    if axes != "k":
        assert hidden.all(axis=1).any()


@pytest.mark.parametrize(
    ("axes", "seq_q"),
    [
        *itertools.product(["bqk", "bhqk", "hqk", "bk", "hk", "bhk"], [1, 128]),
        ("bq", 128),
    ],
)
def test_neighbouring_entries_heads_and_turns_have_other_tiles(axes, seq_q):
    of_turns = [tiles(mask)[1] for mask in masks(axes, seq_q=seq_q)]
    for first, second in itertools.pairwise(of_turns):
        assert (first != second).any(axis=(-2, -1)).all()
    for shows in of_turns:
        assert shows.shape[0] == 1 or (shows[0] != shows[1]).any(axis=(-2, -1)).all()
        assert shows.shape[1] == 1 or (shows[:, 0] != shows[:, 1]).any(axis=(-2, -1)).all()


@pytest.mark.parametrize("axes", ["bhqk", "hk"])
@pytest.mark.parametrize("kv_heads", [2, 3, 4, 5, 6, 7, 8, 16])
def test_heads_have_other_tiles_than_what_has_the_number_of_their_key_head(axes, kv_heads):
    heads = 2 * kv_heads
    problem = AttentionProblem(heads=heads, seq_q=128, seq_kv=256, head_dim=8, mask=True, mask_axes=axes)
    shows = tiles(make_inputs(problem).mask)[1][0]
    assert (shows[:kv_heads] != shows[kv_heads:]).any()
    assert (shows[::2] != shows[1::2]).any()


@pytest.mark.parametrize("axes", ["b", "h", "bh"])
def test_masks_of_neither_queries_nor_keys_are_random(axes):
    problem = AttentionProblem(batch=8, heads=8, seq_q=4, seq_kv=4, head_dim=8, mask=True, mask_axes=axes)
    drawn = [random_mask(problem, np.random.default_rng(seed)) for seed in range(4)]
    assert {bool(value) for mask in drawn for value in mask.flat} == {False, True}


def test_what_is_beyond_the_lengths_of_entries_can_be_visible():
    mask, *_ = masks("bqk", kv_lengths=(100, 256))
    assert mask[0, 0, :, 100:].any()
    shows = tiles(mask[:, :, :, :96])[1][0, 0]
    assert (shows.any(axis=-1) & ~shows[:, 0]).any()


@pytest.mark.parametrize("fields", [{}, {"causal": True}, {"window": (9, 9)}, {"mask": True}])
def test_a_bias_of_minus_infinity_hides_runs_of_keys_from_some_queries_and_leaves_each_one(fields):
    problem = AttentionProblem(batch=2, heads=2, seq_q=40, seq_kv=50, head_dim=8, bias=True, **fields)
    inputs = make_inputs(problem, "minus-infinity-columns")
    is_hidden = np.isneginf(inputs.bias)
    assert is_hidden[..., 1::7].mean() > 0.9 or problem.mask_name != "full"
    if not fields.get("window"):
        assert runs_of_hidden_keys(~is_hidden, problem) == {"first half", "middle", "last half"}
    normal = reference(make_inputs(problem, "normal"), problem)
    assert np.array_equal((reference(inputs, problem) != 0).any(axis=-1), (normal != 0).any(axis=-1))


def ranges(problem):
    """Return which keys each query could see, (first, end) by query."""
    return problem.visible_range(np.arange(problem.seq_q), problem.seq_q, problem.seq_kv)


def runs_of_hidden_keys(visible, problem):
    """Which runs of the keys that queries could see are hidden from queries that see some."""
    first, end = ranges(problem)
    runs = set()
    for row in np.flatnonzero(end - first >= 20):
        seen = visible[..., row, first[row] : end[row]].reshape(-1, end[row] - first[row])
        fourths = [seen.shape[1] * part // 4 for part in range(4)]
        parts = {
            "first half": seen[:, : fourths[2]],
            "middle": seen[:, fourths[1] : fourths[3]],
            "last half": seen[:, -(seen.shape[1] // 2) :],
        }
        for name, part in parts.items():
            if (seen.any(axis=1) & (seen.sum(axis=1) > 3) & ~part.any(axis=1)).any():
                runs.add(name)
    return runs


@pytest.mark.parametrize(
    "fields", [{}, {"causal": True}, {"window": (9, 0)}, {"causal": True, "window": (30, None)}]
)
def test_queries_everywhere_see_keys_at_the_ends_of_what_they_could_see(fields):
    problem = AttentionProblem(heads=2, seq_q=128, head_dim=8, mask=True, **fields)
    first, end = ranges(problem)
    for distribution in ("normal", "large-logits"):
        mask = make_inputs(problem, distribution).mask[0, 0]
        see_their_last = np.array([mask[row, end[row] - 1] for row in range(128)])
        see_some = np.array([mask[row, first[row] : end[row]].any() for row in range(128)])
        see_beyond = np.array([mask[row, end[row] :].mean() if end[row] < 100 else 1 for row in range(128)])
        for quarter in range(4):
            rows = slice(32 * quarter, 32 * quarter + 30)
            assert see_their_last[rows].mean() > 0.4
            assert see_some[rows].mean() > 0.8
            assert see_beyond[rows].min() > 0.4
