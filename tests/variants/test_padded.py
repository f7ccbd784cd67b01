"""Packed sequences as a padded batch: the same attention, with the operations of the padding."""

from pathlib import Path

import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.problem.padding import padded_problem

SKEWED = {"cu_seqlens_q": (0, 1, 1, 40, 140), "cu_seqlens_kv": (0, 1, 1, 40, 140)}
CROSS = {"cu_seqlens_q": (0, 1, 1, 40, 90), "cu_seqlens_kv": (0, 7, 9, 30, 160)}
PROBLEMS = {
    "plain": AttentionProblem(heads=2, head_dim=16, **CROSS),
    "causal": AttentionProblem(heads=2, head_dim=16, causal=True, **SKEWED),
    "outputs": AttentionProblem(
        heads=4, kv_heads=2, head_dim=16, causal=True, log_sum_exp=True, sinks=True, **SKEWED
    ),
}


def built(problem: AttentionProblem, folder: Path, variant: str = "padded", target: str = "cpu") -> Artifact:
    case = Case(problem=problem, variant=variant, target=target)
    return plugins.variant(variant).build(case, "key", folder)


@pytest.mark.parametrize("name", sweep(PROBLEMS, but=["outputs"]))
def test_a_padded_batch_is_attention_of_each_sequence(name: str, tmp_path: Path) -> None:
    problem, artifact = PROBLEMS[name], built(PROBLEMS[name], tmp_path)
    assert artifact.case.problem == problem
    inputs = make_inputs(problem, "normal")
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check_outputs(call.outputs()).ok


@pytest.mark.parametrize("target", sweep(["cuda:sm_80", "rocm:gfx942", "xegpu:bmg"], but=["cuda:sm_80"]))
def test_it_is_right_on_gpus(target: str, tmp_path: Path) -> None:
    problem = PROBLEMS["causal"].model_copy(update={"dtype": "f16"})
    assert_right_on_emulator(built(problem, tmp_path, target=target), tmp_path)


def test_queries_of_the_padding_are_computed(tmp_path: Path) -> None:
    starts = (0, 256, 272, 288, 304)
    problem = AttentionProblem(heads=1, head_dim=16, cu_seqlens_q=starts, cu_seqlens_kv=starts)
    (tmp_path / "packed").mkdir()
    packed = built(problem, tmp_path / "packed", "varlen").metrics.flops_executed
    padded = built(problem, tmp_path).metrics.flops_executed
    assert padded > 1.2 * packed


def test_the_padded_batch_counts_as_memory_of_a_call(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=2, head_dim=16, **SKEWED)
    padded, of_batch = (tmp_path / name for name in ("padded", "batch"))
    for folder in (padded, of_batch):
        folder.mkdir()
    held = built(problem, padded).metrics.workspace_bytes
    alone = built(padded_problem(problem), of_batch, "flash").metrics.workspace_bytes
    assert held - alone == 4 * 4 * (4 * 2 * 100 * 16)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (AttentionProblem(heads=1, head_dim=16, seq_q=8), "padded is about packed sequences"),
        (AttentionProblem(heads=1, head_dim=16, causal=True, **CROSS), "a causal mask of a padded batch"),
        (
            AttentionProblem(heads=1, head_dim=16, window=(3, 3), **SKEWED),
            "windows of a padded batch begin where its padding does",
        ),
        (
            AttentionProblem(heads=1, head_dim=16, cu_seqlens_q=(0, 0), cu_seqlens_kv=(0, 3)),
            "all sequences are empty",
        ),
    ],
)
def test_what_a_padded_batch_is_not(problem: AttentionProblem, reason: str) -> None:
    assert plugins.variant("padded").supports(problem, "cpu").startswith(reason)
