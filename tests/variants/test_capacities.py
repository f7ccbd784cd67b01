"""One build serves all lengths of a capacity: keys, objects, metrics, and what comes out."""

from pathlib import Path
from typing import Any

import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

import harness
from harness import api, plugins
from harness.artifact.artifact import Artifact
from harness.artifact.cache import ArtifactCache
from harness.bench.building.case_build import build_case, find_key
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.cpu.launch import OBJECT_FILE

FORM: dict[str, Any] = {"heads": 2, "head_dim": 16, "causal": True}
STARTS = ((0, 70, 70, 90, 130), (0, 60, 130, 130, 130), (0, 1, 21, 91, 130))
"""Of 130 tokens in four sequences, the longest of which has 70."""
BATCHES = (
    ((0, 100), (0, 100)),
    ((0, 0, 3, 3, 97), (0, 40, 41, 41, 120)),
    ((0, 1, 2, 10, 30, 62, 63, 128), (0, 1, 2, 10, 30, 62, 63, 128)),
    ((0, 65, 66), (0, 65, 66)),
    ((0, 66), (0, 127)),
)
"""Cumulative lengths of queries and keys, all with one room."""


def packed(starts_q: tuple[int, ...], starts_kv: tuple[int, ...], **fields: Any) -> AttentionProblem:
    return AttentionProblem(**{**FORM, **fields}, cu_seqlens_q=starts_q, cu_seqlens_kv=starts_kv)


def case_of(problem: AttentionProblem, variant: str = "varlen", target: str = "cpu", **params: Any) -> Case:
    return Case(problem=problem, variant=variant, target=target, params=params)


def is_right(artifact: Artifact, folder: Path) -> bool:
    problem = artifact.case.problem
    inputs = make_inputs(problem)
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    return expect(inputs, problem).check_outputs(call.outputs()).ok


@pytest.mark.parametrize(
    ("variant", "params"), [("varlen", {}), ("varlen", {"page_size": 32}), ("padded", {})]
)
def test_lengths_of_a_capacity_share_a_build(variant: str, params: dict[str, int], tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path / "cache")
    cases = [case_of(packed(starts, starts), variant, **params) for starts in STARTS]
    built = [build_case(case, cache) for case in cases]
    assert [one.cached for one in built] == [False, True, True]
    assert [one.artifact.case for one in built] == cases
    assert all(is_right(one.artifact, one.folder) for one in built)
    assert len({case.id for case in cases}) == len(cases)


def test_the_objects_of_their_own_builds_are_the_same(tmp_path: Path) -> None:
    objects, executed = set(), []
    shared = build_case(case_of(packed(STARTS[0], STARTS[0])), ArtifactCache(tmp_path / "cache"))
    for number, starts in enumerate(STARTS):
        (tmp_path / str(number)).mkdir()
        case = case_of(packed(starts, starts))
        artifact = plugins.variant("varlen").build(case, "key", tmp_path / str(number))
        objects.add((tmp_path / str(number) / OBJECT_FILE).read_bytes())
        of_case = shared.artifact.of_case(case)
        counted = plugins.variant("varlen").counted(of_case, shared.folder)
        executed.append(artifact.metrics.flops_executed)
        assert counted.metrics == artifact.metrics
    assert len(objects) == 1
    assert len(set(executed)) > 1


def test_key_lengths_share_a_build_and_what_code_depends_on_does_not() -> None:
    def key(**fields: Any) -> str:
        shape = {"batch": 2, "heads": 1, "seq_q": 8, "seq_kv": 96, "head_dim": 8}
        return find_key(case_of(AttentionProblem(**{**shape, **fields}), "flash")).key

    assert key(kv_lengths=(0, 96)) == key(kv_lengths=(17, 60))
    assert len({key(), key(kv_lengths=(0, 96)), key(seq_kv=97, kv_lengths=(0, 96))}) == 3


@pytest.mark.usefixtures("built_here")
@pytest.mark.parametrize("params", sweep([None, {"page_size": 32}], but=[None]))
def test_batches_of_other_sizes_share_a_build_in_python(
    params: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    api._loaded.cache_clear()
    for starts_q, starts_kv in BATCHES:
        problem = packed(starts_q, starts_kv, log_sum_exp=True)
        inputs = make_inputs(problem)
        found = harness.attention(
            inputs.q,
            inputs.k,
            inputs.v,
            variant="varlen",
            params=params,
            causal=True,
            log_sum_exp=True,
            cu_seqlens_q=starts_q,
            cu_seqlens_kv=starts_kv,
        )
        outputs = dict(zip(("output", "log_sum_exp"), found, strict=True))
        assert expect(inputs, problem).check_outputs(outputs).ok, (starts_q, starts_kv)
    assert api._loaded.cache_info().misses == 1


def test_a_room_on_an_emulated_gpu_serves_smaller_batches(tmp_path: Path) -> None:
    variant = plugins.variant("varlen")
    cases = [case_of(packed(*starts, dtype="f16"), target="cuda:sm_80") for starts in BATCHES[1:3]]
    room = variant.with_room(cases[0])
    assert room == variant.with_room(cases[1])
    artifact = variant.build(room, "key", tmp_path)
    for case in cases:
        assert_right_on_emulator(artifact.of_case(case), tmp_path)
