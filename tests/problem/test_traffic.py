"""The least traffic against an enumeration of what each visible pair reads."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from harness.problem.attention_problem import AttentionProblem
from harness.problem.traffic import least_traffic

SIDES = some.none() | some.integers(0, 9)


@given(
    queries=some.integers(1, 9),
    keys=some.integers(1, 9),
    lengths=some.none() | some.tuples(some.integers(0, 9), some.integers(0, 9)),
    causal=some.booleans(),
    alignment=some.sampled_from(["top-left", "bottom-right"]),
    window=some.none() | some.tuples(SIDES, SIDES),
    mask_axes=some.none() | some.sampled_from(["bqk", "bhqk", "bk", "bq", "b", "bh"]),
)
def test_what_no_visible_pair_needs_is_not_read(
    queries: int,
    keys: int,
    lengths: tuple[int, int] | None,
    causal: bool,
    alignment: str,
    window: tuple[int | None, int | None] | None,
    mask_axes: str | None,
) -> None:
    problem = AttentionProblem(
        batch=2,
        heads=4,
        kv_heads=2,
        seq_q=queries,
        seq_kv=keys,
        head_dim=8,
        head_dim_v=16,
        dtype="f16",
        kv_lengths=None if lengths is None else tuple(min(length, keys) for length in lengths),
        causal=causal,
        causal_alignment=alignment if causal else "bottom-right",
        window=None if window == (None, None) else window,
        mask=mask_axes is not None,
        **({} if mask_axes is None else {"mask_axes": mask_axes}),
    )
    read: dict[str, set[tuple[int, ...]]] = {"q": set(), "k": set(), "mask": set()}
    for sequence, (_, valid) in enumerate(problem.sequence_lengths()):
        begins, ends = problem.visible_range(np.arange(queries), queries, valid)
        for query, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            for key in range(begin, end):
                for head in range(4):
                    read["q"].add((sequence, head, query))
                    read["k"].add((sequence, head // 2, key))
                    place = {"b": sequence, "h": head, "q": query, "k": key}
                    read["mask"].add(tuple(place[axis] for axis in mask_axes or ""))
    elements = 8 * len(read["q"]) + (8 + 16) * len(read["k"]) + math.prod(problem.output_shape)
    assert least_traffic(problem) == 2 * elements + (len(read["mask"]) if mask_axes else 0)


def test_without_hidden_pairs_all_inputs_and_outputs_are_moved() -> None:
    fields = {"heads": 4, "kv_heads": 2, "seq_q": 3, "seq_kv": 5, "head_dim": 8, "bias": True, "sinks": True}
    for more in ({}, {"log_sum_exp": True, "bias_axes": "k"}, {"cu_seqlens": (0, 3, 7)}):
        values = dict(more)
        packed = values.pop("cu_seqlens", None)
        if packed is not None:
            values |= {"cu_seqlens_q": packed, "cu_seqlens_kv": packed, "bias": False, "batch": 2}
            values |= {"seq_q": 4, "seq_kv": 4}
        problem = AttentionProblem(**{**fields, **values})
        assert least_traffic(problem) == problem.bytes()


def test_projections_read_all_tokens_and_weights() -> None:
    problem = AttentionProblem(heads=2, seq_q=6, head_dim=4, model_width=10, output_projection=True)
    assert least_traffic(problem) == problem.bytes()


def test_a_bias_that_sequences_share_is_read_as_far_as_the_longest_sees() -> None:
    problem = AttentionProblem(
        batch=2, heads=1, seq_q=1, seq_kv=64, head_dim=4, kv_lengths=(8, 32), bias=True, bias_axes="k"
    )
    assert least_traffic(problem) == 4 * (2 * 4 + (8 + 32) * (4 + 4) + 2 * 4 + 32)
