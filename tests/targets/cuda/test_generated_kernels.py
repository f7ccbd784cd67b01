"""What the variants' kernels for NVIDIA's GPUs consist of, and which of them are refused."""

from pathlib import Path

import pytest
from emulated_runs import build, text
from mlir import ir
from sweeps import sweep

from harness.artifact.artifact import Artifact
from harness.bench.building.case_build import find_key
from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import EmulatorFindingsError, InputError, UnsupportedError
from harness.system.toolchains.nvidia import program
from harness.targets.cuda.vendor import nvidia_vendor
from harness.targets.gpu.pipeline import stages

WHOLE = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")
LEFT_OUT = (
    "read-again",
    "prefetched",
    "half-sums",
    "packed-exchange",
    "loads-by-step",
    "products-by-step",
    "just-in-time",
)
"""Stages, by the strategy of a small tile."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path]:
    folder = tmp_path_factory.mktemp("whole")
    return build(WHOLE, folder), folder


@pytest.mark.parametrize(("queries", "warps"), sweep([(1, 1), (17, 2), (40, 4)], but=[(17, 2)]))
def test_few_queries_have_few_warps(queries: int, warps: int, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=2, seq_q=queries, seq_kv=150, head_dim=32, dtype="f16", causal=True)
    assert build(problem, tmp_path).metrics.workgroup_size == 32 * warps


def test_rows_that_do_not_exist_are_neither_read_nor_written(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=10, seq_kv=64, head_dim=32, dtype="f16")
    artifact = build(problem, tmp_path)
    assert "arith.cmpi ult" in text(artifact, tmp_path, "distributed")
    assert "tensor<16x32" not in text(artifact, tmp_path, "vectorized")


@pytest.mark.parametrize(
    ("chip", "head_dim", "dtype"),
    sweep(
        [
            *((chip, head_dim, "f16") for chip in ("sm_80", "sm_90a") for head_dim in (64, 128)),
            *(("sm_80", *width) for width in ((16, "bf16"), (32, "f16"), (96, "bf16"), (256, "f16"))),
            ("sm_80", 64, "f32"),
        ],
        but=[("sm_80", 96, "bf16")],
    ),
)
def test_the_lanes_of_flash_never_wait_for_a_bank(
    chip: str, head_dim: int, dtype: str, tmp_path: Path
) -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=head_dim, dtype=dtype, causal=True)
    metrics = build(problem, tmp_path, chip=chip).metrics
    products = "m16n8k8.row.col.f32.tf32.tf32" if dtype == "f32" else f"m16n8k16.row.col.f32.{dtype}.{dtype}"
    assert metrics.bank_conflicts == 0
    assert metrics.intrinsics == f"mma.sync.aligned.{products}.f32"
    assert metrics.workgroup_size == 128


@pytest.mark.extra("cuda")
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_flash_spills_nothing(chip: str, head_dim: int, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=head_dim, dtype="f16", causal=True)
    metrics = build(problem, tmp_path, chip=chip).metrics
    assert metrics.spills == 0
    assert 0 < (metrics.registers or 0) <= 255
    assert metrics.instructions["matrix"] > 0


def test_without_an_assembler_spills_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.targets.cuda.ptxas.program", lambda name: None)
    metrics = build(WHOLE, tmp_path).metrics
    assert (metrics.spills, metrics.registers, metrics.instructions) == (None, None, {})


def test_every_stage_is_kept(whole: tuple[Artifact, Path]) -> None:
    artifact, folder = whole
    names = [stage.name for stage in stages(nvidia_vendor("sm_80")) if stage.name not in LEFT_OUT]
    if program("ptxas") is None:
        names.remove("assembled")
    assert list(artifact.stage_files)[-len(names) :] == names
    assert all((folder / file).stat().st_size > 0 for file in artifact.stage_files.values())
    assert "row = warp_row 4, vec_z 2, lane_y 8" in text(artifact, folder, "laid-out")
    assert 'conflict = "batch + vector"' in text(artifact, folder, "laid-out")
    assert "nvgpu.ldmatrix" in text(artifact, folder, "distributed")
    assert ".target sm_80" in text(artifact, folder, "assembly")


def test_what_one_lane_does_is_not_counted(whole: tuple[Artifact, Path]) -> None:
    with mlir_context(), pytest.raises(NotCountable, match="what one lane does"):
        count(ir.Module.parse(text(*whole, "distributed")))


@pytest.mark.parametrize("target", ["cuda:sm_81", "cuda:"])
def test_a_chip_that_is_none_is_bad_input(target: str) -> None:
    with pytest.raises(InputError, match=r"unknown chip .*; expected one of sm_80, sm_86"):
        find_key(Case(problem=WHOLE, variant="flash", target=target))


def test_a_finding_of_the_emulator_is_an_error(whole: tuple[Artifact, Path]) -> None:
    artifact, folder = whole
    kernel = artifact.launch["kernels"][0] | {"shared_bytes": 1024}
    broken = artifact.model_copy(update={"launch": artifact.launch | {"kernels": [kernel]}})
    with pytest.raises(EmulatorFindingsError, match="shared"):
        broken.load(folder).bind(make_inputs(WHOLE)).run()


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"tile_q": 32}, "tile_q 32: expected a multiple of 64 queries"),
        ({"tile_kv": 40}, "tile_kv 40: expected a multiple of 16 keys"),
        ({"tile_kv": 4096}, r"tile_kv 4096 \(cut to 100\): expected a multiple of 16 keys"),
    ],
)
def test_tiles_that_warps_cannot_share_are_unsupported(params: dict, reason: str, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=128, seq_kv=100, head_dim=64, dtype="f16")
    with pytest.raises(UnsupportedError, match=reason):
        build(problem, tmp_path, params=params)


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
@pytest.mark.parametrize("scale", sweep([1e3, 1e6, 1e9, 1e20], but=[1e9]))
def test_large_scales_are_right_where_keys_tie(variant: str, scale: float, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=96, head_dim=16, dtype="f16", causal=True, scale=scale)
    inputs = make_inputs(problem)
    inputs.k[..., 40, :] = inputs.k[..., 80, :] = inputs.k[..., 10, :]
    inputs.q[..., 85:, :] = inputs.k[..., 10:11, :] * 4
    call = build(problem, tmp_path, variant).load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check(call.output()).ok
