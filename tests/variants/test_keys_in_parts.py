"""`flash` that goes over the keys in parts, on the CPU, judged by the oracle."""

from typing import Any

import pytest
from sweeps import sweep
from variants.native_runs import build, judge, load, run

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs


def problem(**fields: Any) -> AttentionProblem:
    return AttentionProblem(**{"heads": 2, "head_dim": 16, **fields})


SHAPES = {
    "decode": problem(seq_q=1, seq_kv=300),
    "decode, grouped": problem(heads=4, kv_heads=2, seq_q=1, seq_kv=333, causal=True),
    "causal": problem(seq_q=150, head_dim=32, causal=True),
    "ragged top-left": problem(
        seq_q=77, seq_kv=200, head_dim_v=24, causal=True, causal_alignment="top-left", scale=0.5
    ),
    "queries that see no key": problem(seq_q=200, seq_kv=70, causal=True),
    "half precision": problem(seq_q=5, seq_kv=200, head_dim=40, dtype="f16"),
    "another half precision": problem(batch=2, seq_q=70, seq_kv=141, dtype="bf16", causal=True),
    "one grid point": problem(heads=1, seq_q=12, seq_kv=150, head_dim=24),
}


@pytest.mark.parametrize("division", sweep(["final", "every-step"], but=["final"]))
@pytest.mark.parametrize("shape", sweep(SHAPES, but=["decode, grouped"]))
def test_equals_the_oracle(shape: str, division: str) -> None:
    params = {"kv_splits": 3, "tile_kv": 16, "division": division}
    assert judge("flash", SHAPES[shape], params=params).first_bad is None


@pytest.mark.parametrize(
    "distribution",
    sweep(["large-logits", "negative-logits", "minus-infinity-columns"], but=["minus-infinity-columns"]),
)
def test_equals_the_oracle_for_extreme_inputs(distribution: str) -> None:
    shape = problem(seq_q=40, seq_kv=200, causal=True)
    assert judge("flash", shape, distribution, params={"kv_splits": 4, "tile_kv": 16}).first_bad is None


def test_threads_share_the_parts() -> None:
    shape = problem(heads=1, seq_q=1, seq_kv=400)
    params = {"kv_splits": 4}
    inputs = make_inputs(shape)
    call = load("flash", shape, threads=3, params=params).bind(inputs)
    call.poison()
    call.run()
    assert (call.output() == run("flash", shape, inputs, params=params)).all()


def test_parts_execute_what_one_part_does() -> None:
    shape = problem(seq_q=150, causal=True)
    executed = {
        build("flash", shape, params={"kv_splits": splits, "tile_kv": 16})[0].metrics.flops_executed
        for splits in (1, 3)
    }
    assert len(executed) == 1


@pytest.mark.parametrize(
    ("target", "params", "parts", "chosen"),
    [
        ("cpu", {}, 1, None),
        ("cpu", {"kv_splits": 3}, 3, None),
        ("cpu", {"kv_splits": 100}, 32, 32),
        ("cuda:sm_80", {}, 4, 4),
        ("cuda:sm_80", {"kv_splits": 1}, 1, None),
    ],
)
def test_parts_are_chosen_by_the_target_and_no_more_than_tiles(
    target: str, params: dict[str, int], parts: int, chosen: int | None
) -> None:
    shape = AttentionProblem(heads=1, seq_q=1, seq_kv=1024, head_dim=64, dtype="f16")
    case = Case(problem=shape, variant="flash", target=target, params=params)
    variant = plugins.variant("flash")
    assert (variant.tiling(case).key_splits, variant.chosen(case).get("kv_splits")) == (parts, chosen)
