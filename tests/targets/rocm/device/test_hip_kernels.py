"""Kernels launched through HIP, here on the emulator's stub of its runtime."""

import threading
from pathlib import Path

import pytest
from callers import at_once
from emulated_runs import built
from stubbed_device import on_device, stub_amd_device

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.machine import gpu_probe
from harness.targets.gpu.driver import DeviceError
from harness.targets.rocm.device.driver import OUT_OF_MEMORY, call, open_device, runtime

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=70, seq_kv=70, head_dim=32, dtype="f16", causal=True)
CHIP = "gfx90a"
"""It has no cache behind its L2, of which the stub's is small: emptying it takes no time."""


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """A case of several kernels with workspaces between them."""
    return built(PROBLEM, f"rocm:{CHIP}", "unfused")[0]


@pytest.fixture(scope="module")
def folder() -> Path:
    return built(PROBLEM, f"rocm:{CHIP}", "unfused")[1]


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


def test_the_device_is_found_by_its_chip_whatever_features_it_names() -> None:
    with stub_amd_device("gfx942"):
        device = open_device("gfx942")
        assert device.chip == "gfx942"
        assert device.cache_bytes > 0


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
