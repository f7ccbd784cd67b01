"""Kernels launched through HIP, here on the emulator's stub of its runtime."""

import threading
from pathlib import Path

import numpy as np
import pytest
from callers import at_once
from stubbed_device import stub_amd_device

from harness import plugins
from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.errors import InputError, UnsupportedError
from harness.machine import gpu_probe
from harness.machine import gpus as gpu_devices
from harness.machine.gpus import GpuDevice
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.executors import chosen_here, with_executor
from harness.targets.gpu.driver import DeviceError
from harness.targets.rocm.device.calls import OUT_OF_MEMORY, call, runtime
from harness.targets.rocm.device.context import open_device

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=70, seq_kv=70, head_dim=32, dtype="f16", causal=True)
CHIP = "gfx90a"
"""It has no cache behind its L2, of which the stub's is small: emptying it takes no time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artifact")


@pytest.fixture(scope="module")
def artifact(folder: Path) -> Artifact:
    """A case of several kernels with workspaces between them."""
    case = Case(problem=PROBLEM, variant="unfused", target=f"rocm:{CHIP}")
    return plugins.variant("unfused").build(case, "key", folder)


def on_device(artifact: Artifact) -> Artifact:
    device = next(loader for loader in artifact.loaders if loader.executor == "device")
    return artifact.model_copy(update={"executor": "device", "loader": device.function})


def test_the_kernels_compute_attention_into_poisoned_memory(artifact: Artifact, folder: Path) -> None:
    inputs = make_inputs(PROBLEM, seed=5)
    with stub_amd_device(CHIP, artifact, folder):
        call_ = on_device(artifact).load(folder).bind(inputs)
        call_.poison()
        assert np.isnan(call_.output()).all()
        call_.run()
        assert expect(inputs, PROBLEM).check(call_.output()).ok


def test_each_thread_of_a_caller_asks_for_the_device(
    artifact: Artifact, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = make_inputs(PROBLEM, seed=5)
    with stub_amd_device(CHIP, artifact, folder):
        kernel = BuiltArtifact(on_device(artifact), folder).executable()
        asked: set[int] = set()
        monkeypatch.setattr(
            runtime(), "hipSetDevice", lambda ordinal: asked.add(threading.get_ident()) or ordinal
        )
        (output,) = at_once(lambda number: kernel(inputs.q, inputs.k, inputs.v), 1)
    assert asked.isdisjoint({threading.get_ident()})
    assert len(asked) == 1
    assert expect(inputs, PROBLEM).check(output).ok


def test_a_sample_tells_the_kernels_time_from_the_launches(artifact: Artifact, folder: Path) -> None:
    with stub_amd_device(CHIP, artifact, folder):
        bound = on_device(artifact).load(folder).bind(make_inputs(PROBLEM, seed=5))
        one = bound.sample(0.0)
        several = bound.sample(12 * one.seconds)
    assert one.calls == 1
    assert several.calls >= 2
    assert one.seconds > 0
    assert one.device.launch_s is not None
    assert (one.device.clock_mhz, one.throttled) == (None, None), "nothing watches the stub's clocks"


def test_the_device_is_found_by_its_chip_whatever_features_it_names() -> None:
    with stub_amd_device("gfx942"):
        device = open_device("gfx942")
        assert device.chip == "gfx942"
        assert device.cache_bytes > 0


def test_machine_code_runs_on_no_other_chip() -> None:
    with stub_amd_device("gfx942"), pytest.raises(UnsupportedError, match="no device for gfx90a"):
        open_device("gfx90a")


def test_what_the_runtime_refuses_is_said_in_its_words(artifact: Artifact, folder: Path) -> None:
    with stub_amd_device(CHIP), pytest.raises(DeviceError, match="no kernels for this image"):
        on_device(artifact).load(folder)


def test_missing_memory_of_the_device_is_told_from_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_amd_device(CHIP):
        monkeypatch.setattr(runtime(), "hipDeviceSynchronize", lambda: OUT_OF_MEMORY)
        with pytest.raises(MemoryError, match="out of memory"):
            call("hipDeviceSynchronize")
        monkeypatch.setattr(runtime(), "hipDeviceSynchronize", lambda: 1)
        with pytest.raises(DeviceError, match="invalid value"):
            call("hipDeviceSynchronize")


def test_a_missing_runtime_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", missing)
    with pytest.raises(DeviceError, match="HIP is not installed: found none of"):
        runtime.__wrapped__()


def test_a_device_is_preferred_to_the_emulator(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_here(artifact).executor == "emulator"
    monkeypatch.setattr(gpu_devices, "devices", lambda target: (GpuDevice("AMD MI210", CHIP),))
    monkeypatch.setattr("harness.targets.gpu.target.devices", gpu_devices.devices)
    assert chosen_here(artifact).executor == "device"
    assert with_executor(chosen_here(artifact), "emulator").loader == artifact.loader


def test_why_a_device_cannot_be_asked_for_is_said(artifact: Artifact) -> None:
    with pytest.raises(InputError, match=f"'device' cannot run target 'rocm:{CHIP}' here: no device"):
        with_executor(artifact, "device")
