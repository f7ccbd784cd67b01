"""The model on kernels that are built here, with ptxas and nvdisasm."""

import pytest

from harness import api
from harness.__main__ import main
from harness.api import BuiltArtifact
from harness.artifact.artifact import StaticMetrics
from harness.bounds.loop_model import LoopModel
from harness.problem.attention_problem import AttentionProblem

pytestmark = pytest.mark.extra("cuda")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def built(target: str = "cuda:sm_80", variant: str = "flash", **fields: object) -> BuiltArtifact:
    problem = AttentionProblem(**{"heads": 8, "seq_q": 1024, "head_dim": 64, "dtype": "f16", **fields})
    return api.build(problem, variant=variant, target=target, params={"tile_q": 64, "tile_kv": 64})


def modelled(**changes: object) -> LoopModel:
    found = built(**changes).metrics.model
    assert found is not None
    return found


def test_a_tile_of_scores_is_computed_in_one_iteration() -> None:
    found = modelled()
    assert found.scores == 64 * 64
    assert found.instructions["matrix"] == 64 * 64 * (64 + 64) / (16 * 8 * 16) / found.warps
    assert found.pipe_cycles["tensor"] == found.instructions["matrix"] * 8 * found.warps / 4


def test_special_functions_are_one_for_each_score_and_for_each_row() -> None:
    found = modelled()
    assert found.per_score(found.instructions["special"]) == pytest.approx(1 + 4 / 64)


def test_the_loop_of_a_causal_kernel_is_the_one_that_masks_nothing() -> None:
    full, causal = modelled(), modelled(causal=True)
    assert causal.scores == full.scores
    assert causal.instructions["float"] == full.instructions["float"]


def test_the_same_products_are_a_smaller_share_of_a_faster_chip() -> None:
    ampere, hopper = modelled(), modelled(target="cuda:sm_90a")
    assert 0.4 < ampere.fraction_of_peak < 0.9
    assert 0.2 < hopper.fraction_of_peak < 0.62
    assert hopper.pipe_cycles["tensor"] < ampere.pipe_cycles["tensor"]


def test_f32_has_three_products_and_as_many_scores() -> None:
    found = modelled(dtype="f32", head_dim=32)
    assert found.scores == 64 * 64


def test_a_small_grid_does_not_fill_the_chip() -> None:
    found = modelled(heads=1, seq_q=256, seq_kv=1024)
    assert found.grid_fraction_of_peak is not None
    assert found.grid_fraction_of_peak < found.fraction_of_peak / 4


def test_a_chip_without_a_model_has_other_metrics() -> None:
    metrics: StaticMetrics = built(target="cuda:sm_89").metrics
    assert metrics.model is None
    assert metrics.registers


def test_products_by_step_need_no_more_registers_than_there_are() -> None:
    problem = AttentionProblem(heads=32, seq_q=4096, head_dim=128, dtype="f16")
    built = api.build(problem, variant="flash", target="cuda:sm_80")
    assert built.metrics.spills == 0
    assert built.metrics.model is not None
    assert "local" not in built.metrics.model.instructions
    assert built.metrics.model.shared_bytes_per_mma == 160
    assert built.metrics.model.fraction_of_peak >= 0.712


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_the_loop_of_a_causal_kernel_spills_nothing_where_rows_are_wide(dtype: str) -> None:
    problem = AttentionProblem(heads=32, seq_q=4096, head_dim=128, dtype=dtype, causal=True)
    built = api.build(problem, variant="flash", target="cuda:sm_80")
    assert built.metrics.spills is not None
    assert built.metrics.spills < 10  # before and between the loops
    assert built.metrics.model is not None
    assert "local" not in built.metrics.model.instructions
    assert built.metrics.model.shared_bytes_per_mma == 160
    assert built.metrics.model.fraction_of_peak >= 0.712


OPTIONS = [
    "--dtype",
    "f16",
    "--heads",
    "8",
    "--seq",
    "1024",
    "--head-dim",
    "64",
    "--set",
    "tile_q=64",
    "--set",
    "tile_kv=64",
    "--bounds",
]


def test_the_command_prints_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", "flash", "--target", "cuda:sm_80", *OPTIONS]) == 0
    lines = capsys.readouterr().out.splitlines()
    products = [line for line in lines if "HMMA.16816.F32" in line]
    assert len(products) == 64
    assert any(line.startswith("modelled fraction of the dense peak: 0.") for line in lines)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("cuda:sm_89", "harness: no model of sm_89: modelled are sm_80, sm_90, with any suffix"),
        ("cpu:avx2", "harness: no model of what bounds code for cpu"),
    ],
)
def test_where_there_is_no_model_a_line_says_so(
    capsys: pytest.CaptureFixture[str], target: str, reason: str
) -> None:
    dtype = ["--dtype", "f32"] if target.startswith("cpu") else []
    assert main(["ir", "flash", "--target", target, *OPTIONS, *dtype]) == 2
    assert capsys.readouterr().err.splitlines() == [reason]


def test_unfused_kernels_have_no_one_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", "unfused", "--target", "cuda:sm_80", *OPTIONS]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the model is of one kernel with matrix instructions in a loop" in line


def test_without_the_disassembler_a_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built()
    monkeypatch.setattr("harness.targets.cuda.loop_listing.program", lambda name: None)
    assert main(["ir", "flash", "--target", "cuda:sm_80", *OPTIONS]) == 2
    assert capsys.readouterr().err == (
        "harness: --bounds: no ptxas, which the model reads machine code with: "
        "install attention-harness[cuda]\n"
    )
