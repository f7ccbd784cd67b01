"""The Triton baseline: compiled for chips without a device, and executed by the emulator."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import BuildError, UnsupportedError
from harness.variants.baselines.triton import variant
from harness.variants.baselines.triton.tiles import TritonTiles
from harness.variants.baselines.triton.variant import Triton, executed_flops

SMALL = AttentionProblem(heads=1, seq_q=64, head_dim=16, dtype="f16")

TILES = {"tile_q": 64, "tile_kv": 32, "warps": 4, "pipeline": 2}


def build(problem: AttentionProblem, folder: Path, target: str = "cuda:sm_80", **params) -> Artifact:
    case = Case(problem=problem, variant="triton", target=target, params=TILES | params)
    assert Triton().supports(problem, case.target) is None
    return Triton().build(case, "key", folder)


@pytest.mark.extra("triton")
@pytest.mark.parametrize(
    "problem",
    [
        AttentionProblem(heads=1, seq_q=100, head_dim=64, dtype="f16", causal=True),
        AttentionProblem(batch=2, heads=2, kv_heads=1, seq_q=70, seq_kv=150, head_dim=32, dtype="bf16"),
        AttentionProblem(heads=1, seq_q=150, seq_kv=70, head_dim=16, dtype="f16", causal=True),
        AttentionProblem(
            heads=1, seq_q=64, seq_kv=90, head_dim=32, head_dim_v=16, dtype="f16", causal=True,
            causal_alignment="top-left", scale=0.3,
        ),
        AttentionProblem(heads=1, seq_q=64, head_dim=16, dtype="f32"),
        AttentionProblem(heads=1, seq_q=64, seq_kv=90, head_dim=32, dtype="f16", causal=True, scale=-0.3),
    ],
    ids=[
        "ragged-causal", "grouped-cross", "rows-without-keys", "top-left", "single-precision",
        "negative-scale",
    ],
)  # fmt: skip
def test_attention_is_right_and_the_checks_find_nothing(problem: AttentionProblem, tmp_path: Path) -> None:
    artifact = build(problem, tmp_path)
    assert (artifact.executor, artifact.why_not_run) == ("emulator", None)
    inputs = make_inputs(problem, seed=4)
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    verdict = expect(inputs, problem).check(call.output())
    assert verdict.ok, verdict


@pytest.mark.extra("triton")
@pytest.mark.parametrize(
    ("target", "dtype", "warps"),
    sweep(
        [
            ("rocm:gfx942", "f16", 2),
            ("rocm:gfx1100", "bf16", 4),
            ("rocm:gfx90a", "f16", 2),
            ("rocm:gfx1201", "bf16", 4),
        ],
        but=[("rocm:gfx942", "f16", 2), ("rocm:gfx1100", "bf16", 4)],
    ),
)
def test_on_amd_s_chips_too(target: str, dtype: str, warps: int, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=100, head_dim=64, dtype=dtype, causal=True)
    artifact = build(problem, tmp_path, target, warps=warps)
    assert (artifact.executor, artifact.why_not_run) == ("emulator", None)
    assert artifact.metrics.registers
    assert (artifact.metrics.intrinsics or "").startswith("v_")
    assert_right_on_emulator(artifact, tmp_path)


@pytest.mark.extra("triton", "baselines")
def test_where_triton_launches_itself_the_call_is_that_of_the_kernel(tmp_path: Path) -> None:
    """Triton's interpreter takes the place of its back end and of the device."""
    script = (
        "import torch\n"
        "from harness.oracle.expected import expect\n"
        "from harness.problem.attention_problem import AttentionProblem\n"
        "from harness.problem.inputs import make_inputs\n"
        "from harness.variants.baselines.triton.launched import LaunchedCall\n"
        "from harness.variants.baselines.triton.tiles import TritonTiles\n"
        "problem = AttentionProblem(heads=2, kv_heads=1, seq_q=40, seq_kv=70, head_dim=16, dtype='f16',"
        " causal=True)\n"
        "inputs = make_inputs(problem)\n"
        "call = LaunchedCall(problem, inputs, torch.device('cpu'), TritonTiles(16, 32, 1, 1))\n"
        "call.poison()\n"
        "call.run()\n"
        "assert expect(inputs, problem).check(call.output()).ok\n"
    )
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


@pytest.mark.extra("triton")
def test_hopper_gets_its_own_instructions_which_the_emulator_does_not_know(tmp_path: Path) -> None:
    artifact = build(SMALL, tmp_path, "cuda:sm_90")
    assert "wgmma" in (artifact.metrics.intrinsics or "")
    assert artifact.executor == "none"
    assert "the emulator refuses the code: the emulator has no model of" in (artifact.why_not_run or "")
    assert artifact.launch["chip"] == "sm_90a", "such code runs on this chip only"
    assert artifact.metrics.spills == 0


@pytest.mark.extra("triton")
def test_a_device_launches_the_kernel_without_triton(tmp_path: Path) -> None:
    artifact = build(SMALL, tmp_path)
    assert [loader.executor for loader in artifact.loaders] == ["device", "emulator"]
    (kernel,) = artifact.launch["kernels"]
    assert (kernel["grid"], kernel["threads"]) == (1, 128)
    assert kernel["null_arguments"] == 2, "scratch memory that the kernel does not use"
    assert list(artifact.stage_files) == ["ttir", "ttgir", "llir", "assembly", "object", "emulated"]


@pytest.mark.extra("triton")
def test_what_no_workgroup_has_shared_memory_for_is_unsupported(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=512, head_dim=128, dtype="f16")
    with pytest.raises(UnsupportedError, match="bytes of shared memory; a workgroup may"):
        build(problem, tmp_path, tile_q=64, tile_kv=128, pipeline=6)


@pytest.mark.extra("triton")
def test_what_triton_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.variants.baselines.triton import compilation as triton_compilation

    def refuse(*arguments, **options):
        raise RuntimeError("out of resource: shared memory\nand more")

    monkeypatch.setattr(triton_compilation.triton, "compile", refuse)
    with pytest.raises(BuildError, match="Triton: RuntimeError: out of resource"):
        build(SMALL, tmp_path)


def test_the_executed_operations_are_whole_tiles_that_some_query_sees() -> None:
    tiles = TritonTiles(tile_q=64, tile_kv=32, warps=4, pipeline=2)
    full = AttentionProblem(heads=2, seq_q=100, seq_kv=40, head_dim=16, dtype="f16")
    assert executed_flops(full, tiles) == 2 * 2 * (2 * 64) * 64 * 32
    causal = AttentionProblem(heads=1, seq_q=128, seq_kv=128, head_dim=16, dtype="f16", causal=True)
    assert executed_flops(causal, tiles) == 2 * 64 * (64 + 128) * 32


@pytest.mark.parametrize(
    ("changes", "target", "reason"),
    [
        ({}, "cpu", "Triton compiles for cuda, rocm, xegpu here, not for cpu"),
        ({"head_dim": 48}, "cuda", "head_dim 48: Triton's tiles are powers of two from 16 on"),
        ({"softcap": 5.0}, "cuda", "softcap is not part of this baseline"),
        ({"kv_lengths": (10,)}, "cuda", "kv_lengths is not part of this baseline"),
        ({"model_width": 32}, "cuda", "model_width is not part of this baseline"),
    ],
)
def test_what_it_does_not_do_is_said(
    changes: dict, target: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variant, "why_missing", lambda vendor: None)
    problem = AttentionProblem(**{"heads": 1, "seq_q": 64, "head_dim": 16, "dtype": "f16", **changes})
    assert Triton().supports(problem, target) == reason


def test_without_triton_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert Triton().supports(SMALL, "cuda") == "install attention-harness[triton]"


@pytest.mark.extra("triton")
def test_without_a_back_end_the_line_says_what_to_install() -> None:
    reason = "this Triton has no back end for intel: install PyTorch for XPU, with triton-xpu"
    assert Triton().supports(SMALL, "xegpu") == reason


def test_what_triton_launches_itself_waits_for_a_device(tmp_path: Path) -> None:
    case = Case(problem=SMALL, variant="triton", target="xegpu:bmg", params={"tile_q": 64})
    artifact = Triton().build(case, "key", tmp_path)
    assert (artifact.executor, artifact.launch["chip"]) == ("none", "bmg")
    assert (artifact.why_not_run or "").startswith("no device")
    assert artifact.launch["tiles"] == {"tile_q": 64, "tile_kv": 64, "warps": 4, "pipeline": 3}


def test_tiles_that_are_set_are_not_chosen() -> None:
    problem = AttentionProblem(heads=1, seq_q=512, head_dim=128, dtype="f16")
    case = Case(problem=problem, variant="triton", target="cuda:sm_80", params={"tile_q": 64, "warps": 8})
    assert Triton().chosen(case) == {"tile_kv": 32, "pipeline": 4}
