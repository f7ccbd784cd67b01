"""Copies of tiles whose rows lie apart: used again where they are of the same tile, and only there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweeps import sweep
from variants.native_runs import judge

from harness import plugins
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.cpu.packed_tiles import PACKED_ROWS

LENGTHS = (70, 0, 1, 130, 64, 33)
SMALL = {"tile_q": 16, "tile_kv": 16}


def packed(**fields: object) -> AttentionProblem:
    starts = tuple(int(start) for start in np.cumsum([0, *LENGTHS]))
    sizes = {"heads": 4, "head_dim": 16, "cu_seqlens_q": starts, "cu_seqlens_kv": starts}
    return AttentionProblem(**{**sizes, **fields})


FORMS = {
    "full": {},
    "causal": {"causal": True},
    "window": {"window": (20, 3)},
    "groups": {"kv_heads": 2, "causal": True},
    "half": {"dtype": "bf16"},
    "odd width": {"head_dim": 20, "head_dim_v": 12},
}


def stage(case: Case, name: str, folder: Path) -> str:
    artifact = plugins.variant(case.variant).build(case, "key", folder)
    return (folder / artifact.stage_files[name]).read_text()


@pytest.mark.parametrize("form", sweep(FORMS, but=["causal", "groups"]))
def test_ragged_sequences_of_several_heads_are_right(form: str) -> None:
    assert judge("varlen", packed(**FORMS[form]), params=SMALL).first_bad is None


@pytest.mark.parametrize("form", ["causal", "groups"])
def test_tiles_in_pages_are_right(form: str, tmp_path: Path) -> None:
    problem = packed(**FORMS[form])
    params = {"tile_q": 16, "page_size": 32}
    artifact = plugins.variant("varlen").build(
        Case(problem=problem, variant="varlen", target="cpu", params=params), "key", tmp_path
    )
    inputs = make_inputs(problem)
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check(call.output()).ok


def test_weights_of_a_head_are_packed_before_projections(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=3, seq_q=64, head_dim=16, model_width=48)
    params = {"projections": "before", "tile_q": 16}
    case = Case(problem=problem, variant="split-head", target="cpu", params=params)
    assert stage(case, "kept", tmp_path).count(PACKED_ROWS) == 3
    assert judge("split-head", problem, params=params).first_bad is None


@pytest.mark.parametrize(
    ("problem", "copies"),
    [(packed(), True), (packed(heads=1), False), (AttentionProblem(heads=4, seq_q=64, head_dim=16), False)],
    ids=["several heads", "one head", "batch"],
)
def test_tiles_are_copied_where_their_rows_lie_apart(
    problem: AttentionProblem, copies: bool, tmp_path: Path
) -> None:
    variant = "varlen" if problem.is_packed else "flash"
    text = stage(Case(problem=problem, variant=variant, target="cpu", params=SMALL), "kept", tmp_path)
    assert (PACKED_ROWS in text) == copies
    assert ("memref.prefetch" in text) == copies


def test_a_call_on_other_inputs_uses_no_copy_of_the_former_ones(tmp_path: Path) -> None:
    problem = packed()
    case = Case(problem=problem, variant="varlen", target="cpu", params=SMALL, target_options={"threads": 2})
    artifact = plugins.variant("varlen").build(case, "key", tmp_path)
    first, second = (make_inputs(problem, seed=seed) for seed in (1, 2))
    call = artifact.load(tmp_path).bind(replace(first, q=first.q.copy(), k=first.k.copy(), v=first.v.copy()))
    call.run()
    assert call.take_inputs(second)
    call.run()
    assert expect(second, problem).check(call.output()).ok
