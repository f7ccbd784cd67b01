"""The model on kernels that are built here, with ptxas and nvdisasm."""

import pytest
from sweeps import sweep

from harness import api
from harness.__main__ import main
from harness.api import BuiltArtifact
from harness.codegen.bounds.loop_model import LoopModel
from harness.problem.attention_problem import AttentionProblem

pytestmark = pytest.mark.extra("cuda")

H100 = "cuda:sm_90a"
PACKED = {"cu_seqlens_q": (0, 512, 1024), "cu_seqlens_kv": (0, 512, 1024)}
UNPACKED = {"batch": 2, "seq_q": 512, "seq_kv": 512}
"""Sequences of the same lengths."""


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


def test_the_loop_of_a_causal_kernel_is_the_one_that_masks_nothing() -> None:
    full, causal = modelled(), modelled(causal=True)
    assert causal.scores == full.scores
    assert causal.instructions["float"] == full.instructions["float"]


def test_the_same_products_are_a_smaller_share_of_a_faster_chip() -> None:
    ampere, hopper = modelled(), modelled(target="cuda:sm_90a")
    assert 0.4 < ampere.fraction_of_peak < 0.9
    assert 0.2 < hopper.fraction_of_peak < 0.62
    assert hopper.pipe_cycles["tensor"] < ampere.pipe_cycles["tensor"]


def test_a_small_grid_does_not_fill_the_chip() -> None:
    found = modelled(heads=1, seq_q=256, seq_kv=1024)
    assert found.grid_fraction_of_peak is not None
    assert found.grid_fraction_of_peak < found.fraction_of_peak / 4


@pytest.mark.parametrize(
    ("dtype", "causal"), sweep([("f16", False), ("f16", True), ("bf16", True)], but=[("f16", True)])
)
def test_the_loop_spills_nothing_where_rows_are_wide(dtype: str, causal: bool) -> None:
    problem = AttentionProblem(heads=32, seq_q=4096, head_dim=128, dtype=dtype, causal=causal)
    metrics = api.build(problem, variant="flash", target="cuda:sm_80").metrics
    assert metrics.spills is not None
    assert metrics.spills < (10 if causal else 1)  # before and between the loops
    assert metrics.model is not None
    assert "local" not in metrics.model.instructions
    assert metrics.model.shared_bytes_per_mma == 160
    assert metrics.model.fraction_of_peak >= 0.712


@pytest.mark.parametrize(
    ("target", "variant", "causal", "least"),
    sweep(
        [
            ("cuda:sm_80", "flash", False, 0.65),
            ("cuda:sm_80", "flash", True, 0.65),
            ("cuda:sm_80", "varlen", False, 0.65),
            ("cuda:sm_90a", "flash", False, 0.36),
            ("cuda:sm_90a", "flash", True, 0.36),
            ("cuda:sm_90a", "varlen", False, 0.36),
        ],
        but=[("cuda:sm_80", "flash", True, 0.65)],
    ),
)
def test_rows_of_512_bytes_spill_nothing(target: str, variant: str, causal: bool, least: float) -> None:
    lengths = PACKED if variant == "varlen" else UNPACKED
    problem = AttentionProblem(heads=8, head_dim=256, dtype="f16", causal=causal, **lengths)
    metrics = api.build(problem, variant=variant, target=target).metrics
    assert (metrics.spills, metrics.bank_conflicts) == (0, 0)
    assert metrics.model is not None
    assert metrics.model.fraction_of_peak >= least


def test_a_band_of_packed_rows_costs_no_resident_workgroup() -> None:
    packed, same = (
        api.build(AttentionProblem(heads=8, head_dim=64, dtype="f16", **lengths), variant=name, target=H100)
        for name, lengths in (("varlen", PACKED), ("flash", UNPACKED))
    )
    assert (packed.metrics.spills, same.metrics.spills) == (0, 0)
    assert packed.metrics.model is not None
    assert same.metrics.model is not None
    assert packed.metrics.model.fraction_of_peak >= 0.95 * same.metrics.model.fraction_of_peak


FOUR = (0, 1024, 2048, 3072, 4096)


@pytest.mark.parametrize(
    ("packed", "unpacked", "heads", "pages", "least"),
    sweep(
        [
            ({"cu_seqlens_q": FOUR, "cu_seqlens_kv": FOUR}, {"batch": 4}, 16, {}, 0.95),
            ({"cu_seqlens_q": FOUR, "cu_seqlens_kv": FOUR}, {"batch": 4}, 16, {"page_size": 128}, 0.95),
            # Of the same instructions ptxas makes an order in which two warps of `flash` fall into step.
            (PACKED, UNPACKED, 8, {}, 0.94),
            (PACKED, UNPACKED, 8, {"page_size": 128}, 0.9),
        ],
        but=[(PACKED, UNPACKED, 8, {}, 0.94)],
    ),
)
def test_large_tiles_of_packed_rows_are_nearly_those_of_others(
    packed: dict, unpacked: dict, heads: int, pages: dict, least: float
) -> None:
    fractions = []
    for variant, lengths, params in (("varlen", packed, pages), ("flash", {"seq_q": 1024, **unpacked}, {})):
        problem = AttentionProblem(heads=heads, head_dim=64, dtype="f16", **lengths)
        found = api.build(problem, variant=variant, target="cuda:sm_80", params=params).metrics
        assert found.model is not None
        assert "local" not in found.model.instructions
        fractions.append(found.model.fraction_of_peak)
    assert fractions[0] >= least * fractions[1]


SIZES = "--dtype f16 --heads 8 --seq 1024 --head-dim 64 --set tile_q=64 --set tile_kv=64"
OPTIONS = [*SIZES.split(), "--bounds"]


def test_the_command_prints_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ir", "flash", "--target", "cuda:sm_80", *OPTIONS]) == 0
    lines = capsys.readouterr().out.splitlines()
    products = [line for line in lines if "HMMA.16816.F32" in line]
    assert len(products) == 64
    assert any(line.startswith("modelled fraction of the dense peak: 0.") for line in lines)


@pytest.mark.parametrize(
    ("variant", "target", "reason"),
    [
        ("flash", "cuda:sm_89", "no model of sm_89: modelled are sm_80, sm_90, with any suffix"),
        ("flash", "cpu:avx2", "no model of what bounds code for cpu"),
        ("unfused", "cuda:sm_80", "the model is of one kernel with matrix instructions in a loop"),
    ],
)
def test_where_there_is_no_model_a_line_says_so(
    capsys: pytest.CaptureFixture[str], variant: str, target: str, reason: str
) -> None:
    dtype = ["--dtype", "f32"] if target.startswith("cpu") else []
    assert main(["ir", variant, "--target", target, *OPTIONS, *dtype]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"harness: {reason}")
