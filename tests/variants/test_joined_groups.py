"""Query heads that share a head of K and V as rows of one tile."""

import dataclasses

import numpy as np
import pytest
from sweeps import sweep
from variants.native_runs import GENERATED, build, judge, load

from harness.errors import InputError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.variants.tiling import with_joined_groups

DECODING = AttentionProblem(batch=2, heads=6, kv_heads=2, seq_q=1, seq_kv=77, head_dim=32, causal=True)
FEW = AttentionProblem(heads=8, kv_heads=2, seq_q=3, seq_kv=65, head_dim=32, head_dim_v=16, dtype="bf16")
LATENT = AttentionProblem(heads=2, seq_q=1, seq_kv=130, head_dim=576, head_dim_v=512)
"""Heads as wide as multi-head latent attention has them."""


@pytest.mark.parametrize("variant", sweep(GENERATED, but=["flash"]))
@pytest.mark.parametrize("problem", [DECODING, FEW, LATENT], ids=lambda problem: problem.describe())
def test_few_queries_are_right(variant: str, problem: AttentionProblem) -> None:
    assert judge(variant, problem).ok


def test_a_group_is_computed_once() -> None:
    problem = AttentionProblem(heads=8, kv_heads=1, seq_q=1, seq_kv=256, head_dim=64)
    artifact, _ = build("flash", problem, target="cpu:avx2")
    assert artifact.metrics.flops_executed == problem.flops()


@pytest.mark.parametrize(
    "changes",
    [{"seq_q": 2}, {"causal_alignment": "top-left"}, {"window": (3, 3)}, {"mask": True}, {"kv_heads": 6}],
    ids=str,
)
def test_groups_stay_apart_where_a_querys_number_counts_or_there_are_none(changes: dict) -> None:
    problem = DECODING.model_copy(update=changes)
    assert with_joined_groups(problem) == problem


def test_wide_heads_of_one_query_do_not_become_an_instruction_for_each_element() -> None:
    artifact, folder = build("flash", LATENT, target="cpu:avx2")
    assert (folder / artifact.stage_files["vector-lowered"]).read_text().count("vector.load") < 150


def test_callers_give_the_arrays_of_the_problem() -> None:
    inputs = make_inputs(DECODING)
    joined = dataclasses.replace(inputs, q=inputs.q.reshape(2, 2, 3, 32))
    with pytest.raises(InputError, match=r"q: found float32\[2, 2, 3, 32\], expected float32\[2, 6, 1, 32\]"):
        load("flash", DECODING).bind(joined)
    call = load("flash", DECODING).bind(inputs)
    call.run()
    assert call.output().shape == (2, 6, 1, 32)
    assert np.isfinite(call.output()).all()
