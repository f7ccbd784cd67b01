"""The variants' kernels for NVIDIA's GPUs: built, executed by the emulator, and compared with the oracle."""

from pathlib import Path

import pytest
from emulated_runs import assert_right, build, text
from mlir import ir
from sweeps import sweep

from harness.building.case_build import find_key
from harness.costs.costs import NotCountable
from harness.costs.counter import count
from harness.dialect.context import mlir_context
from harness.errors import EmulatorFindingsError, InputError, UnsupportedError
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.cuda.vendor import nvidia_vendor
from harness.targets.gpu.pipeline import stages
from harness.toolchains.nvidia import program

WIDTHS = [(16, "bf16"), (32, "f16"), (96, "bf16"), (256, "f16"), (64, "f32")]


PROBLEMS = {
    "ragged-causal": AttentionProblem(heads=1, seq_q=100, head_dim=64, dtype="f16", causal=True),
    "grouped-cross": AttentionProblem(
        batch=2, heads=2, kv_heads=1, seq_q=70, seq_kv=150, head_dim=32, dtype="bf16"
    ),
    "other-width-of-v": AttentionProblem(
        heads=1, seq_q=64, seq_kv=128, head_dim=48, head_dim_v=80, dtype="f16", causal=True, scale=0.3
    ),
}


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
@pytest.mark.parametrize("problem", sweep(PROBLEMS, but=["ragged-causal"]))
def test_attention_is_right_and_the_checks_find_nothing(variant: str, problem: str, tmp_path: Path) -> None:
    artifact = build(PROBLEMS[problem], tmp_path, variant)
    assert (artifact.executor, artifact.why_not_run) == ("emulator", None)
    assert_right(artifact, tmp_path)


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["unfused"]))
@pytest.mark.parametrize(("queries", "warps"), sweep([(1, 1), (17, 2), (40, 4)], but=[(17, 2)]))
def test_few_queries_have_few_warps_and_rows_that_are_only_padding(
    variant: str, queries: int, warps: int, tmp_path: Path
) -> None:
    problem = AttentionProblem(heads=2, seq_q=queries, seq_kv=150, head_dim=32, dtype="f16", causal=True)
    artifact = build(problem, tmp_path, variant)
    assert artifact.metrics.workgroup_size == 32 * warps
    assert_right(artifact, tmp_path)


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
@pytest.mark.parametrize("keys", sweep([16, 17, 64], but=[17]))
def test_few_keys_have_a_smaller_tile(variant: str, keys: int, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=2, seq_q=70, seq_kv=keys, head_dim=64, dtype="f16")
    assert_right(build(problem, tmp_path, variant), tmp_path)


@pytest.mark.sweep
def test_few_queries_in_single_precision_are_stored_as_they_are_computed(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=2, seq_q=5, seq_kv=70, head_dim=32, dtype="f32")
    assert_right(build(problem, tmp_path), tmp_path)


def test_rows_that_do_not_exist_are_neither_read_nor_written(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=10, seq_kv=64, head_dim=32, dtype="f16")
    artifact = build(problem, tmp_path)
    assert "arith.cmpi ult" in text(artifact, tmp_path, "distributed")
    assert "tensor<16x32" not in text(artifact, tmp_path, "vectorized")


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
def test_single_precision_is_kept_by_three_products(variant: str, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, seq_kv=128, head_dim=32, dtype="f32")
    artifact = build(problem, tmp_path, variant)
    assert artifact.metrics.intrinsics == "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    assert_right(artifact, tmp_path)


@pytest.mark.sweep
def test_keys_that_are_as_many_as_columns_are_told_apart_from_them(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, seq_kv=128, head_dim=128, dtype="f16")
    assert_right(build(problem, tmp_path, "unfused"), tmp_path)


@pytest.mark.sweep
def test_division_at_every_step_and_other_tiles_are_right(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=130, head_dim=64, dtype="f16", causal=True)
    artifact = build(problem, tmp_path, params={"division": "every-step", "tile_q": 128, "tile_kv": 32})
    assert_right(artifact, tmp_path)


@pytest.mark.parametrize(
    ("chip", "head_dim"),
    sweep(
        [("sm_80", 64), ("sm_80", 128), ("sm_90a", 64), ("sm_90a", 128)], but=[("sm_80", 64), ("sm_90a", 128)]
    ),
)
def test_the_lanes_of_flash_never_wait_for_a_bank(chip: str, head_dim: int, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=head_dim, dtype="f16", causal=True)
    metrics = build(problem, tmp_path, chip=chip).metrics
    assert metrics.bank_conflicts == 0
    assert metrics.intrinsics == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
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
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=64, dtype="f16")
    metrics = build(problem, tmp_path).metrics
    assert (metrics.spills, metrics.registers, metrics.instructions) == (None, None, {})


@pytest.mark.parametrize(
    ("head_dim", "dtype"),
    sweep(
        [(16, "bf16"), (32, "f16"), (96, "bf16"), (256, "f16"), (64, "f32")], but=[(16, "bf16"), (96, "bf16")]
    ),
)
def test_no_lane_waits_for_a_bank_at_other_widths(head_dim: int, dtype: str, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=100, head_dim=head_dim, dtype=dtype, causal=True)
    artifact = build(problem, tmp_path)
    assert artifact.metrics.bank_conflicts == 0
    assert_right(artifact, tmp_path)


def test_every_stage_is_kept(tmp_path: Path) -> None:
    artifact = build(AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16"), tmp_path)
    left_out = (  # by the strategy of a small tile
        "scores-ahead",
        "read-again",
        "prefetched",
        "loads-by-step",
        "products-by-step",
        "just-in-time",
    )
    names = [stage.name for stage in stages(nvidia_vendor("sm_80")) if stage.name not in left_out]
    if program("ptxas") is None:
        names.remove("assembled")
    assert list(artifact.stage_files)[-len(names) :] == names
    assert all((tmp_path / file).stat().st_size > 0 for file in artifact.stage_files.values())
    texts = {name: text(artifact, tmp_path, name) for name in artifact.stage_files}
    assert "row = warp_row 4, vec_z 2, lane_y 8" in texts["laid-out"]
    assert 'conflict = "batch + vector"' in texts["laid-out"]
    assert "nvgpu.ldmatrix" in texts["distributed"]
    assert ".target sm_80" in texts["ptx"]


def test_what_one_lane_does_is_not_counted_as_what_a_kernel_does(tmp_path: Path) -> None:
    artifact = build(AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16"), tmp_path)
    distributed = text(artifact, tmp_path, "distributed")
    with mlir_context(), pytest.raises(NotCountable, match="what one lane does"):
        count(ir.Module.parse(distributed))


def test_a_chip_that_is_none_is_bad_input() -> None:
    problem = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")
    for target in ("cuda:sm_81", "cuda:"):
        with pytest.raises(InputError, match=r"unknown chip .*; expected one of sm_80, sm_86"):
            find_key(Case(problem=problem, variant="flash", target=target))


def test_a_finding_of_the_emulator_is_an_error_that_names_it(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")
    artifact = build(problem, tmp_path)
    kernel = artifact.launch["kernels"][0] | {"shared_bytes": 1024}
    broken = artifact.model_copy(update={"launch": artifact.launch | {"kernels": [kernel]}})
    call = broken.load(tmp_path).bind(make_inputs(problem))
    with pytest.raises(EmulatorFindingsError, match="shared"):
        call.run()


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
    verdict = expect(inputs, problem).check(call.output())
    assert verdict.ok, verdict
