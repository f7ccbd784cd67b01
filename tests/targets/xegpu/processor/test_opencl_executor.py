"""The executor `opencl`: chosen, refused, and right where Intel's runtime is installed."""

import importlib.metadata

import numpy as np
import pytest
from emulated_runs import built

from harness.artifact.artifact import EMULATING, Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import InputError, UnsupportedError
from harness.targets import executors
from harness.targets.executors import chosen_here, with_executor
from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu import XegpuTarget
from harness.targets.xegpu.processor import DISTRIBUTIONS, runtime

needs_runtime = pytest.mark.extra("intel")

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=40, seq_kv=70, head_dim=32, dtype="f16")


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return built(PROBLEM, "xegpu:bmg")[0]


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "installed_version", lambda name: "1" if name in DISTRIBUTIONS else None)


@pytest.fixture
def _missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    for name in ("distribution", "version"):
        monkeypatch.setattr(runtime, name, missing)
    monkeypatch.setattr(executors, "installed_version", lambda name: None)


def asking_for(artifact: Artifact, executor: str) -> Artifact:
    case = artifact.case.model_copy(update={"target_options": {"executor": executor}})
    return artifact.model_copy(update={"case": case})


@needs_runtime
def test_flash_is_right_on_the_processor_and_agrees_with_the_emulator(
    artifact: Artifact,
) -> None:
    inputs, folder = make_inputs(PROBLEM, seed=5), built(PROBLEM, "xegpu:bmg")[1]
    outputs = []
    for executor in ("opencl", "emulator"):
        call = with_executor(artifact, executor).load(folder).bind(inputs)
        call.poison()
        assert np.isnan(call.output()).all()
        call.run()
        outputs.append(call.output())
    assert expect(inputs, PROBLEM).check(outputs[0]).ok
    np.testing.assert_allclose(*(output.astype(np.float32) for output in outputs), rtol=2e-3, atol=2e-3)


@needs_runtime
def test_bf16_is_unsupported_with_the_reason() -> None:
    artifact, folder = built(PROBLEM.model_copy(update={"dtype": "bf16"}), "xegpu:bmg")
    with pytest.raises(UnsupportedError, match=r"bf16: .* has no SPV_KHR_bfloat16"):
        with_executor(artifact, "opencl").load(folder)


@pytest.mark.usefixtures("_installed")
def test_a_case_asks_for_an_executor_by_an_option(artifact: Artifact) -> None:
    chosen = chosen_here(asking_for(artifact, "opencl"))
    assert (chosen.executor, chosen.why_not_run) == ("opencl", None)
    assert chosen.loader == "harness.targets.xegpu.processor.executor:load"
    assert chosen_here(asking_for(artifact, "emulator")).executor == "emulator"


@pytest.mark.usefixtures("_missing")
def test_without_the_runtime_one_line_says_what_to_install(artifact: Artifact) -> None:
    install = "for the executor opencl: install attention-harness\\[intel\\]"
    chosen = chosen_here(asking_for(artifact, "opencl"))
    assert (chosen.executor, chosen.why_not_run) == ("none", install.replace("\\", ""))
    with pytest.raises(InputError, match=f"'opencl' cannot run target 'xegpu:bmg' here: {install}"):
        with_executor(artifact, "opencl")


@pytest.mark.usefixtures("_missing")
def test_a_runtime_that_has_gone_is_one_line() -> None:
    assert runtime.installed_version() is None
    with pytest.raises(DeviceError, match="not installed: install attention-harness"):
        runtime.open_processor.__wrapped__()


def test_an_executor_that_the_target_does_not_have_is_refused() -> None:
    from harness.experiment.case_settings import checked

    with pytest.raises(InputError, match=r"executor: Input should be .*'opencl', found"):
        checked("target", "xegpu", {"executor": "native"}, "")


def test_options_of_a_case_do_not_reach_the_strategy_but_stay_with_the_case() -> None:
    case = Case(problem=PROBLEM, variant="flash", target="xegpu:bmg", target_options={"executor": "opencl"})
    assert "executor" not in XegpuTarget().chosen(case)
    assert XegpuTarget().device_of(case) == "emulated bmg"


def test_what_runs_on_the_processor_is_emulated_and_never_timed() -> None:
    from harness.bench.running.check_pool import TIMED_EXECUTORS

    assert "opencl" in EMULATING
    assert not set(EMULATING) & set(TIMED_EXECUTORS)
