"""Heads that are projected from tokens: where they lie, before attention and in its kernel."""

from pathlib import Path

import pytest

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError

SHARED_HEADS = AttentionProblem(
    heads=4, kv_heads=2, seq_q=77, head_dim=40, head_dim_v=24, dtype="bf16", model_width=100, mask=True
)
PROBLEM_OF_256 = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype="f16", model_width=64)


def case_of(target: str, problem: AttentionProblem, projections: str) -> Case:
    return Case(problem=problem, variant="split-head", target=target, params={"projections": projections})


@pytest.mark.parametrize(
    ("projections", "kernels"),
    [
        pytest.param("fused", ["project_key", "project_value", "attention"], marks=pytest.mark.sweep),
        ("before", ["project_query", "project_key", "project_value", "attention"]),
    ],
)
def test_what_is_projected_before_has_a_kernel_and_scratch(
    projections: str, kernels: list[str], tmp_path: Path
) -> None:
    problem = SHARED_HEADS
    case = case_of("cuda:sm_80", problem, projections)
    artifact = plugins.variant("split-head").build(case, "key", tmp_path)
    assert [kernel["name"] for kernel in artifact.launch["kernels"]] == kernels
    of_heads = {"project_query": 4 * 40, "project_key": 2 * 40, "project_value": 2 * 24}
    columns = sum(of_heads[kernel] for kernel in kernels[:-1])
    assert artifact.metrics.workspace_bytes == 77 * columns * 2
    assert artifact.metrics.flops_executed is not None
    assert artifact.metrics.flops_executed >= problem.flops()


@pytest.mark.sweep
def test_a_workgroup_keeps_the_heads_that_its_memory_has_room_for(tmp_path: Path) -> None:
    def built(name: str, **params: str) -> Artifact:
        case = Case(problem=PROBLEM_OF_256, variant="split-head", target="cuda:sm_80", params=params)
        folder = tmp_path / name
        folder.mkdir()
        return plugins.variant("split-head").build(case, "key", folder)

    kept, left = built("kept"), built("left", intermediates="scratch")
    assert [kernel["name"] for kernel in kept.launch["kernels"]] == ["attention"]
    assert kept.metrics.workspace_bytes == 0
    bytes_of_head = 256 * (64 + 64) * 2
    assert kept.metrics.shared_bytes is not None
    assert left.metrics.shared_bytes is not None
    assert kept.metrics.shared_bytes > bytes_of_head
    assert left.metrics.workspace_bytes == 2 * bytes_of_head
    assert kept.metrics.flops_executed == left.metrics.flops_executed == PROBLEM_OF_256.flops()
    chosen = plugins.variant("split-head").chosen(kept.case)
    assert chosen["intermediates"] == "shared"


@pytest.mark.parametrize(
    ("target", "fields", "reason"),
    [
        ("rocm:gfx942", {"seq_q": 1024}, r"they need \d+ bytes, a workgroup has 65536"),
        ("cuda:sm_80", {"kv_heads": 1}, "heads that share K and V would project them again"),
        ("cuda:sm_80", {"head_dim_v": 20}, "queries, keys or columns are padded"),
        ("cuda:sm_80", {"seq_q": 64}, "there is one tile of queries or keys"),
        ("xegpu:bmg", {}, "they need"),
    ],
)
def test_heads_that_a_workgroup_cannot_keep_lie_in_scratch(
    target: str, fields: dict[str, int], reason: str
) -> None:
    values = {"heads": 2, "seq_q": 256, "head_dim": 64, "model_width": 64, "dtype": "f16", **fields}
    case = Case(problem=AttentionProblem(**values), variant="split-head", target=target)
    variant = plugins.variant("split-head")
    assert variant.chosen(case)["intermediates"] == "scratch"
    with pytest.raises(UnsupportedError, match=f"not kept by a workgroup: {reason}"):
        variant.source(case.model_copy(update={"params": {"intermediates": "shared"}}))


@pytest.mark.parametrize("intermediates", ["shared", "scratch"])
@pytest.mark.parametrize(
    ("target", "params", "reason"),
    [
        ("cpu", {}, "cpu projects K and V of a head under the loop over heads"),
        ("cuda:sm_80", {"projections": "before"}, "projections 'before' leaves K and V in memory"),
        ("cpu", {"projections": "before"}, "projections 'before' leaves K and V in memory"),
    ],
)
def test_where_heads_lie_is_not_asked_where_it_changes_nothing(
    target: str, params: dict[str, str], reason: str, intermediates: str
) -> None:
    params = {**params, "intermediates": intermediates}
    case = Case(problem=PROBLEM_OF_256, variant="split-head", target=target, params=params)
    with pytest.raises(
        UnsupportedError, match=f"intermediates '{intermediates}' would change nothing: {reason}"
    ):
        plugins.variant("split-head").source(case)
