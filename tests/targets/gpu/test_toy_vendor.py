"""The road for GPUs serves a vendor that it has never seen: `flash` for the toy of `toy_vendor.py`."""

from pathlib import Path

import pytest
from sweeps import sweep
from toy_vendor import LANES, VENDOR

from harness import plugins
from harness.codegen.dialect.context import mlir_context
from harness.emulator.launching import LaunchSettings
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.gpu.emulator_driver import EmulatorDriver
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.kernel_build import KernelBuild
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.gpu.pipeline import compile_kernels, stages
from harness.targets.gpu.target import GpuTarget
from harness.targets.gpu.workgroup import Workgroup
from harness.targets.lowering.stage_recorder import StageRecorder
from harness.variants.generated import GeneratedVariant


class ToyTarget(GpuTarget):
    """GPUs of the toy's vendor."""

    name = "toy"
    summary = "a GPU that nobody sells"
    driver = "the toy's driver"
    default_chip = VENDOR.chip
    descriptions = {VENDOR.chip: "the only one"}  # noqa: RUF012

    def runs_on(self, chip: str, device_chip: str) -> bool:
        return False

    def vendor(self, chip: str | None):
        return VENDOR


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plugins know the toy."""
    known = plugins.load
    monkeypatch.setattr(
        plugins, "load", lambda kind, name: ToyTarget() if name == "toy" else known(kind, name)
    )


def built(variant: str, problem: AttentionProblem, folder: Path) -> tuple[KernelBuild, StageRecorder]:
    case = Case(problem=problem, variant=variant, target=f"toy:{VENDOR.chip}")
    generated: GeneratedVariant = plugins.variant(variant)
    assert generated.supports(problem, case.target) is None
    with mlir_context():
        workgroup = Workgroup(VENDOR, problem)
        tiling, strategy = workgroup.tiling, workgroup.strategy(case)
        build = KernelBuild(generated.kernels(case), VENDOR, tiling, strategy)
        return build, compile_kernels(build, folder)


FORMS = {
    "causal": {"heads": 2, "seq_q": 24, "head_dim": 8, "causal": True},
    "grouped-ragged": {
        "heads": 2,
        "kv_heads": 1,
        "seq_q": 11,
        "seq_kv": 21,
        "head_dim": 8,
        "head_dim_v": 12,
    },
    "few-queries": {"heads": 1, "seq_q": 3, "seq_kv": 9, "head_dim": 4},
    "keys-in-parts": {"heads": 1, "seq_q": 3, "seq_kv": 80, "head_dim": 4, "causal": True},
    "padded": {"heads": 1, "seq_q": 5, "seq_kv": 3, "head_dim": 6, "head_dim_v": 5},
    "changed-scores": {
        "heads": 2,
        "seq_q": 9,
        "head_dim": 4,
        "mask": True,
        "bias": True,
        "softcap": 3.0,
        "window": (4, 2),
    },
}
EVERY_RUN = [
    ("naive", "causal"),
    ("flash", "keys-in-parts"),
    ("flash", "padded"),
    ("unfused", "changed-scores"),
]


@pytest.mark.parametrize(
    ("variant", "form"),
    sweep([(variant, form) for variant in ("flash", "naive", "unfused") for form in FORMS], but=EVERY_RUN),
)
def test_attention_is_right_and_the_checks_find_nothing(variant: str, form: str, tmp_path: Path) -> None:
    problem = AttentionProblem(**FORMS[form])
    build, _ = built(variant, problem, tmp_path)
    driver = EmulatorDriver(build.emulation.load(), LaunchSettings())
    inputs = make_inputs(problem, seed=3)
    call = GpuKernels(problem, GpuLaunch(chip=VENDOR.chip, kernels=build.kernels), driver).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check(call.output()).ok


def test_every_stage_is_kept_and_warps_have_its_lanes(tmp_path: Path) -> None:
    build, recorder = built("flash", AttentionProblem(heads=1, seq_q=16, head_dim=8), tmp_path)
    assert [kernel.threads for kernel in build.kernels] == [VENDOR.most_warps * LANES]
    assert [kernel.shared_bytes for kernel in build.kernels] == [0]
    left_out = (  # by the strategy of a small tile
        "half-sums",
        "packed-exchange",
        "read-again",
        "prefetched",
        "loads-by-step",
        "products-by-step",
        "just-in-time",
    )
    names = [stage.name for stage in stages(VENDOR)]
    assert list(recorder.in_order()["stage_files"]) == [name for name in names if name not in left_out]
    assert [stage.name for stage in ToyTarget().stages] == names


def test_what_its_instruction_does_not_take_is_refused_with_the_reason() -> None:
    problem = AttentionProblem(heads=1, seq_q=16, head_dim=8, dtype="bf16")
    reason = plugins.variant("flash").supports(problem, f"toy:{VENDOR.chip}")
    assert reason is not None
    assert reason.startswith(f"dtype bf16: matrix instructions of {VENDOR.chip} take")
