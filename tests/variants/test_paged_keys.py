"""`varlen` with keys and values in pages."""

from pathlib import Path

import numpy as np
import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import Verdict, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError

SKEWED = {"cu_seqlens_q": (0, 1, 1, 40, 240, 257), "cu_seqlens_kv": (0, 7, 9, 60, 260, 260)}
DECODE = {"cu_seqlens_q": (0, 1, 2, 3), "cu_seqlens_kv": (0, 5, 9, 300)}
PROBLEMS = {
    "causal": AttentionProblem(heads=2, head_dim=32, causal=True, **SKEWED),
    "everything": AttentionProblem(
        heads=4, kv_heads=2, head_dim=40, head_dim_v=64, window=(40, 10), softcap=5.0, sinks=True,
        log_sum_exp=True, **SKEWED,
    ),
    "decode": AttentionProblem(heads=1, head_dim=16, **DECODE),
}  # fmt: skip
CHIPS = ("cuda:sm_80", "cuda:sm_90a", "rocm:gfx942", "rocm:gfx1100", "rocm:gfx1201", "xegpu:bmg")


def case_of(problem: AttentionProblem, target: str = "cpu", **params: int) -> Case:
    return Case(problem=problem, variant="varlen", target=target, params=params)


def judge(artifact: Artifact, folder: Path, distribution: str = "normal") -> Verdict:
    problem = artifact.case.problem
    inputs = make_inputs(problem, distribution)
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    return expect(inputs, problem).check_outputs(call.outputs())


@pytest.mark.parametrize(
    ("problem", "page_size"),
    sweep(
        [(name, size) for name in PROBLEMS for size in (1, 16, 48, 64, 1024)],
        but=[("everything", 64)],
    ),
)
def test_keys_in_pages_are_right(problem, page_size, tmp_path):
    case = case_of(PROBLEMS[problem], page_size=page_size)
    artifact = plugins.variant("varlen").build(case, "key", tmp_path)
    assert artifact.page_size == page_size
    for distribution in ("normal", "negative-logits"):
        assert judge(artifact, tmp_path, distribution).first_bad is None


@pytest.mark.parametrize(
    ("target", "problem"),
    sweep(
        [(target, problem) for target in CHIPS for problem in PROBLEMS],
        but=[("cuda:sm_80", "everything")],
    ),
)
def test_keys_in_pages_are_right_on_gpus(target, problem, tmp_path):
    case = case_of(PROBLEMS[problem].model_copy(update={"dtype": "f16"}), target, page_size=128)
    assert_right_on_emulator(plugins.variant("varlen").build(case, "key", tmp_path), tmp_path)


def test_a_table_with_two_entries_exchanged_is_wrong(tmp_path, monkeypatch):
    case = case_of(PROBLEMS["causal"], page_size=16)
    artifact = plugins.variant("varlen").build(case, "key", tmp_path)
    executable = artifact.load(tmp_path)
    assert judge(artifact, tmp_path).ok
    table = executable.paging.table
    table[[2, 5]] = table[[5, 2]]
    problem, inputs = case.problem, make_inputs(case.problem)
    pool = executable.paging.pool(inputs.k)
    assert not np.array_equal(pool, artifact.load(tmp_path).paging.pool(inputs.k), equal_nan=True)
    buffers = type(inputs).buffers

    def with_the_right_pools(self, problem):
        right = artifact.load(tmp_path).paging
        return buffers(self, problem) | {"key": right.pool(inputs.k), "value": right.pool(inputs.v)}

    monkeypatch.setattr(type(inputs), "buffers", with_the_right_pools)
    call = executable.bind(inputs)
    call.run()
    assert not expect(inputs, problem).check(call.output()).ok


@pytest.mark.parametrize(
    ("target", "params", "reason"),
    [
        ("cpu", {"page_size": 48, "tile_kv": 32}, "tile_kv 32 does not divide pages of 48 tokens"),
        ("cuda:sm_80", {"page_size": 8}, "pages of 8 tokens: tiles of keys are multiples of"),
    ],
)
def test_pages_that_tiles_do_not_divide_are_refused(target, params, reason):
    with pytest.raises(UnsupportedError, match=reason):
        plugins.variant("varlen").source(case_of(PROBLEMS["causal"], target, **params))
