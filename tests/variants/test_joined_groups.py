"""Query heads that share a head of K and V as rows of one tile."""

from typing import Any

import numpy as np
import pytest
from codegen.rewrites.execution import execute
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import sweep
from variants.native_runs import GENERATED, build, judge

from harness.codegen.dialect.context import mlir_context
from harness.codegen.payloads.attention import multi_head_attention
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.variants.tiling import with_joined_groups

DECODING = AttentionProblem(batch=2, heads=6, kv_heads=2, seq_q=1, seq_kv=77, head_dim=32, causal=True)
FEW = AttentionProblem(heads=8, kv_heads=2, seq_q=3, seq_kv=65, head_dim=32, head_dim_v=16, dtype="bf16")
LATENT = AttentionProblem(heads=2, seq_q=1, seq_kv=130, head_dim=576, head_dim_v=512)
"""Heads as wide as multi-head latent attention has them."""
TILE = 16
"""Query rows of the smallest tile of a CPU."""
ROWS_OF_A_TILE = AttentionProblem(heads=6, kv_heads=2, seq_q=5, seq_kv=70, head_dim=16)
MORE_ROWS_THAN_A_TILE = AttentionProblem(heads=22, kv_heads=2, seq_q=5, seq_kv=70, head_dim=16)
CHANGES = (
    {"sinks": True},
    {"window": (4, 0)},
    {"window": (3, 2), "sinks": True},
    {"causal": True, "log_sum_exp": True, "sinks": True},
    {"causal": True, "causal_alignment": "top-left"},
    {"causal": True, "window": (4, None), "kv_lengths": (50,), "sinks": True},
    {"bias": True},
    {"mask": True, "mask_axes": "bhqk"},
)
"""What differs by head or by query, and can be joined where the rows of a group fit a tile."""
OF_ONE_QUERY = ({"mask": True}, {"mask": True, "mask_axes": "hk"}, {"bias": True, "bias_axes": "h"})
"""What can be joined where each head has one query."""


def changed(problem: AttentionProblem, changes: dict[str, Any]) -> AttentionProblem:
    return AttentionProblem.model_validate(problem.model_dump() | changes)


IN_EVERY_RUN = (
    changed(ROWS_OF_A_TILE, CHANGES[2]),
    changed(ROWS_OF_A_TILE, CHANGES[5]),
    changed(MORE_ROWS_THAN_A_TILE, {"seq_q": 1, **OF_ONE_QUERY[1]}),
)


@pytest.mark.parametrize("variant", sweep(GENERATED, but=["flash"]))
@pytest.mark.parametrize("problem", [DECODING, FEW, LATENT], ids=lambda problem: problem.describe())
def test_few_queries_are_right(variant: str, problem: AttentionProblem) -> None:
    assert judge(variant, problem).ok


@pytest.mark.parametrize("variant", sweep(GENERATED, but=["flash"]))
@pytest.mark.parametrize(
    "problem",
    [
        *sweep((changed(ROWS_OF_A_TILE, changes) for changes in CHANGES), but=IN_EVERY_RUN),
        *sweep(
            (changed(MORE_ROWS_THAN_A_TILE, changes) for changes in CHANGES if "sinks" not in changes), but=()
        ),
        *sweep(
            (
                changed(MORE_ROWS_THAN_A_TILE, {"seq_q": 1, **changes})
                for changes in (*OF_ONE_QUERY, *CHANGES)
            ),
            but=IN_EVERY_RUN,
        ),
    ],
    ids=lambda problem: problem.describe(),
)
def test_what_differs_by_head_or_by_query_is_right(variant: str, problem: AttentionProblem) -> None:
    assert with_joined_groups(problem, TILE).heads == problem.kv_heads
    assert judge(variant, problem).ok


@settings(max_examples=10)
@given(
    heads=st.integers(1, 3),
    queries=st.integers(1, 5),
    keys=st.integers(1, 9),
    window=st.tuples(*[st.sampled_from([None, 0, 1, 3, 4096])] * 2),
    is_causal=st.booleans(),
    alignment=st.sampled_from(["bottom-right", "top-left"]),
    lengths=st.none() | st.tuples(*[st.integers(0, 1)] * 2),
)
def test_a_row_sees_the_keys_of_its_query(
    heads: int,
    queries: int,
    keys: int,
    window: tuple[int | None, int | None],
    is_causal: bool,
    alignment: str,
    lengths: tuple[int, int] | None,
) -> None:
    problem = AttentionProblem(
        batch=2, heads=2 * heads, kv_heads=2, seq_q=queries, seq_kv=keys, head_dim=1, window=window,
        causal=is_causal, causal_alignment=alignment, kv_lengths=lengths, sinks=True,
    )  # fmt: skip
    joined = with_joined_groups(problem, TILE)
    assert joined.heads == 2
    inputs = make_inputs(problem)
    buffers = inputs.buffers(problem)
    names = ["query", "key", "value", *(["kv_lengths"] if lengths else []), "sinks"]
    arrays = [*(buffers[name] for name in names), np.full(problem.output_shape, np.nan)]
    with mlir_context():
        (output,) = execute(multi_head_attention(joined, None, problem), arrays, "attention")
    output = output.reshape(problem.output_shape)
    assert expect(inputs, problem).check(output).ok


@pytest.mark.parametrize(
    "changes",
    sweep(
        [{}, {"sinks": True}, {"window": (4096, 0)}, {"bias": True}, {"causal": True}], but=[{"bias": True}]
    ),
    ids=str,
)
def test_a_group_is_computed_once(changes: dict[str, Any]) -> None:
    problem = AttentionProblem(heads=8, kv_heads=1, seq_q=1, seq_kv=256, head_dim=64, **changes)
    artifact, _ = build("flash", problem, target="cpu:avx2")
    assert artifact.metrics.flops_executed == problem.flops()


@pytest.mark.parametrize(
    "changes",
    [
        {"seq_q": 2, "mask": True},
        {"seq_q": 2, "bias": True, "bias_axes": "hk"},
        {"bias": True, "bias_axes": "q"},
        {"seq_q": 6, "sinks": True},
        {"kv_heads": 6},
    ],
    ids=str,
)
def test_groups_stay_apart_where_something_would_be_repeated_or_there_are_none(changes: dict) -> None:
    problem = changed(DECODING, changes)
    assert with_joined_groups(problem, TILE) == problem
