"""What IREE builds for GPUs: stages, metrics, executors, refusals; what runs is in test_iree_emulated.py."""

from pathlib import Path

import pytest
from sweeps import sweep

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.emulator import device_code, native_library
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, HarnessError, UnsupportedError
from harness.system.machine.gpus import GpuDevice
from harness.targets.gpu import target as gpu_target
from harness.variants.baselines.iree.tiling import IreeTiles, configuration
from harness.variants.baselines.iree.variant import Iree, IreeUnfused, IreeVariant

PROBLEM = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")


@pytest.fixture(autouse=True)
def _no_device(monkeypatch):
    monkeypatch.setattr(gpu_target, "devices", lambda name: None)


@pytest.fixture
def no_emulator(monkeypatch):
    monkeypatch.setattr(native_library, "compiler", lambda: None)


def build(variant: IreeVariant, target: str, folder: Path, **params) -> Artifact:
    case = Case(problem=PROBLEM, variant=variant.name, target=target, params=params)
    return variant.build(case, "key", folder)


def stage(artifact: Artifact, folder: Path, name: str) -> str:
    return BuiltArtifact(artifact, folder).stage(name)


@pytest.mark.usefixtures("no_emulator")
@pytest.mark.parametrize("target", sweep(["cuda:sm_80", "cuda:sm_90a"], but=["cuda:sm_90a"]))
def test_an_nvidia_build_has_stages_and_figures(target, tmp_path):
    artifact = build(Iree(), target, tmp_path)
    assert list(artifact.stage_files) == [
        "payload", "dispatches", "configured", "tuned", "llvm", "linked", "optimized", "assembly", "object",
    ]  # fmt: skip
    assert "iree_linalg_ext.attention" in stage(artifact, tmp_path, "payload")
    assert "mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>" in stage(
        artifact, tmp_path, "configured"
    )
    assert "llvm.nvvm.mma.m16n8k16" in stage(artifact, tmp_path, "optimized")
    assert f".target {target.partition(':')[2]}" in stage(artifact, tmp_path, "assembly")
    metrics = artifact.metrics
    assert metrics.intrinsics == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert metrics.workgroup_size == 128
    assert metrics.shared_bytes > 0
    assert artifact.launch["driver"] == "cuda"


@pytest.mark.usefixtures("no_emulator")
def test_several_kernels_are_counted_together(tmp_path):
    artifact = build(IreeUnfused(), "rocm:gfx942", tmp_path)
    assert stage(artifact, tmp_path, "configured").count("hal.executable.export") == 3
    assert stage(artifact, tmp_path, "assembly").count(".vgpr_count:") == 3
    metrics = artifact.metrics
    assert metrics.intrinsics == "v_mfma_f32_16x16x16_f16"
    assert metrics.workgroup_size == 256
    assert metrics.registers > 32
    assert metrics.spills == 0
    assert 0 < metrics.code_bytes < (tmp_path / "module.vmfb").stat().st_size


@pytest.mark.usefixtures("no_emulator")
def test_without_a_compiler_there_is_no_emulator_and_the_artifact_says_so(tmp_path):
    artifact = build(Iree(), "rocm:gfx1100", tmp_path)
    assert (artifact.executor, artifact.refusal) == ("none", None)
    assert (artifact.why_not_run or "").startswith("no device: ")
    assert (artifact.why_not_run or "").endswith(f"; for the emulator: {native_library.MISSING}")
    with pytest.raises(HarnessError, match="built, but no device: "):
        BuiltArtifact(artifact, tmp_path).executable()


def test_what_the_emulator_has_no_model_of_is_named(tmp_path, monkeypatch):
    def refuse(llvm_ir, device):
        raise BuildError("the emulator has no model of llvm.nvvm.new.instruction")

    monkeypatch.setattr(native_library, "compiler", lambda: ["cc"])
    monkeypatch.setattr(device_code, "compile_for_emulator", refuse)
    artifact = build(Iree(), "cuda:sm_80", tmp_path)
    assert artifact.executor == "none"
    refusal = "the emulator refuses the code: the emulator has no model of llvm.nvvm.new.instruction"
    assert (artifact.why_not_run or "").endswith(refusal)


@pytest.mark.usefixtures("no_emulator")
def test_a_device_that_is_here_runs_it(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_target, "devices", lambda name: (GpuDevice("NVIDIA H100", "sm_90"),))
    artifact = build(Iree(), "cuda:sm_80", tmp_path)
    assert (artifact.executor, artifact.why_not_run) == ("device", None)
    assert artifact.loader == "harness.variants.baselines.iree.calls:load_on_device"
    assert not (tmp_path / "emulator").exists()


@pytest.mark.usefixtures("no_emulator")
def test_set_tiles_take_the_place_of_iree_s(tmp_path):
    artifact = build(Iree(), "rocm:gfx942", tmp_path, tile_q=128, tile_kv=32)
    theirs = configuration(stage(artifact, tmp_path, "configured"))
    tuned = stage(artifact, tmp_path, "tuned")
    assert (theirs.workgroup_tiles[theirs.roles.queries], theirs.key_tiles[theirs.roles.keys]) == (64, 64)
    assert theirs.changed(IreeTiles(tile_q=128, tile_kv=32)).lowering in tuned
    assert theirs.lowering not in tuned


@pytest.mark.usefixtures("no_emulator")
def test_a_choice_without_matrix_instructions_is_left_to_iree(tmp_path):
    case = Case(
        problem=PROBLEM.model_copy(update={"dtype": "f32"}), variant="iree", target="cuda:sm_80", params={}
    )
    artifact = Iree().build(case, "key", tmp_path)
    assert "tuned" not in artifact.stage_files
    assert artifact.chosen == {}
    assert artifact.refusal is None


@pytest.mark.usefixtures("no_emulator")
def test_a_refusal_keeps_the_stages_before_it(tmp_path):
    artifact = build(Iree(), "cuda:sm_80", tmp_path, intrinsic="NV_MMA_SYNC_F16_16x8x16_F16")
    assert artifact.executor == "none"
    assert artifact.refusal == "iree-compile: 'func.func' op failed to distribute"
    assert list(artifact.stage_files) == ["payload", "dispatches", "configured", "tuned"]
    with pytest.raises(UnsupportedError, match="failed to distribute"):
        BuiltArtifact(artifact, tmp_path).executable()


def test_a_compilation_that_takes_too_long_is_unsupported(tmp_path):
    with pytest.raises(UnsupportedError, match=r"iree-compile took longer than 0\.001 s"):
        build(Iree(), "rocm:gfx942", tmp_path, compile_timeout_s=0.001)
