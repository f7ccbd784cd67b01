"""What the talk on high-dimensional layouts does in f16: sums of the output, and exchanges between lanes."""

from pathlib import Path

import numpy as np
import pytest
from emulated_runs import build

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError

PROBLEM = AttentionProblem(heads=1, seq_q=128, seq_kv=300, head_dim=64, dtype="f16", causal=True, scale=1.0)
TALKS_TILE = {"tile_q": 256, "tile_kv": 128, "warps": 8}
LONG = AttentionProblem(heads=20, seq_q=1024, head_dim=64, dtype="f16", scale=1.0)


def error_of(artifact: Artifact, folder: Path) -> float:
    inputs = make_inputs(PROBLEM, seed=3)
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    verdict = expect(inputs, PROBLEM).check(call.output())
    assert verdict.ok, verdict
    return verdict.error_ratio


def test_each_form_is_right_and_rounds_more(tmp_path: Path) -> None:
    forms = {
        "f32": {},
        "sums": {"output_sums": "f16"},
        "exchange": {"row_exchange": "packed-f16"},
        "every-tile": {"row_exchange": "packed-f16", "row_sums": "every-tile", "output_sums": "f16"},
    }
    built = {name: build(PROBLEM, tmp_path / name, **options) for name, options in forms.items()}
    errors = {name: error_of(artifact, tmp_path / name) for name, artifact in built.items()}
    assert min(errors["sums"], errors["exchange"]) > errors["f32"]
    text = {
        name: (tmp_path / name / artifact.stage_files["distributed"]).read_text()
        for name, artifact in built.items()
    }
    assert "vector<2xf16>, vector<2xf16>)>" in text["sums"], "the instruction's result is of f16"
    assert 2 * text["exchange"].count("gpu.shuffle") == text["f32"].count("gpu.shuffle")


def test_lanes_of_other_vendors_exchange_pairs_too(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=64, dtype="f16")
    for target in ("rocm:gfx942", "xegpu:bmg"):
        folder = tmp_path / target.partition(":")[0]
        folder.mkdir()
        case = Case(
            problem=problem, variant="flash", target=target, target_options={"row_exchange": "packed-f16"}
        )
        artifact = plugins.variant("flash").build(case, "key", folder)
        inputs = make_inputs(problem)
        call = artifact.load(folder).bind(inputs)
        call.poison()
        call.run()
        assert expect(inputs, problem).check(call.output()).ok


@pytest.mark.parametrize(
    ("target", "dtype"), [("cuda:sm_80", "bf16"), ("rocm:gfx942", "f16"), ("xegpu:bmg", "f16")]
)
def test_where_no_instruction_adds_up_in_f16_that_is_said(target: str, dtype: str) -> None:
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    case = Case(problem=problem, variant="flash", target=target, target_options={"output_sums": "f16"})
    with pytest.raises(UnsupportedError, match="output_sums=f16: no matrix instruction of"):
        plugins.variant("flash").chosen(case)


def test_warps_are_a_gpus(tmp_path: Path) -> None:
    case = Case(problem=PROBLEM, variant="flash", target="cpu", params={"warps": 8})
    with pytest.raises(UnsupportedError, match="warps: chosen on GPUs only, not for cpu"):
        plugins.variant("flash").source(case)
    artifact = build(PROBLEM, tmp_path, params={"warps": 2})
    assert artifact.launch["kernels"][0]["threads"] == 2 * 32
    assert np.isfinite(error_of(artifact, tmp_path))


@pytest.mark.extra("cuda")
def test_the_talks_tile_fits_into_registers_with_its_warps(tmp_path: Path) -> None:
    by_form = {
        name: build(LONG, tmp_path / name, params=TALKS_TILE, **options).metrics.spills
        for name, options in (("f32", {}), ("f16", {"output_sums": "f16", "row_exchange": "packed-f16"}))
    }
    assert by_form["f32"] is not None
    assert (by_form["f32"] < 10, by_form["f16"]) == (True, 0)
