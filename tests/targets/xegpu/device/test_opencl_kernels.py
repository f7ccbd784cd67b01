"""Kernels launched through OpenCL, here on the emulator's stub of its library with one of Intel's GPUs."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from emulated_runs import built
from stubbed_device import on_device, stub_intel_device

from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.machine import gpu_probe
from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu.device.calls import SUCCESS
from harness.targets.xegpu.device.context import open_gpu
from harness.targets.xegpu.device.driver import ALIGNMENT, OpenClMemory

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=70, seq_kv=70, head_dim=32, dtype="f16", causal=True)
CHIP = "bmg"


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """A case of several kernels with workspaces between them."""
    return built(PROBLEM, f"xegpu:{CHIP}", "unfused")[0]


@pytest.fixture(scope="module")
def folder() -> Path:
    return built(PROBLEM, f"xegpu:{CHIP}", "unfused")[1]


def test_flash_in_bf16_runs_through_opencl() -> None:
    problem = PROBLEM.model_copy(update={"dtype": "bf16"})
    artifact, folder = built(problem, "xegpu:pvc")
    inputs = make_inputs(problem, seed=5)
    with stub_intel_device("pvc", artifact, folder):
        call = on_device(artifact).load(folder).bind(inputs)
        call.poison()
        call.run()
        assert expect(inputs, problem).check(call.output()).ok


def test_the_compiler_is_told_the_large_register_mode(
    artifact: Artifact, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HARNESS_EMULATOR_LOG", "1")
    with stub_intel_device(CHIP, artifact, folder):
        on_device(artifact).load(folder)
    assert 'build with options "-cl-intel-256-GRF-per-thread"' in capfd.readouterr().err


@pytest.mark.parametrize("chip", ["bmg", "pvc"])
def test_the_device_is_found_by_the_version_of_its_cores(chip: str) -> None:
    with stub_intel_device(chip):
        assert open_gpu(chip).cache_bytes > 0


def test_memory_is_aligned_as_messages_want_it() -> None:
    with stub_intel_device(CHIP):
        memory = OpenClMemory(open_gpu(CHIP), 100)
        assert memory.address % ALIGNMENT == 0
        memory.write(np.arange(25, dtype=np.float32))
        assert memory.read(np.dtype(np.float32), (5, 5))[4, 4] == 24


def test_a_compiler_s_words_are_part_of_the_error(
    artifact: Artifact, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def log(program: int, device: int, what: int, capacity: int, value: ctypes.Array, size: None) -> int:
        value.value = b"Build started\nerror: undefined reference to `dpas'\nerror: more"
        return SUCCESS

    with stub_intel_device(CHIP, artifact, folder):
        found = open_gpu(CHIP).calls._found
        monkeypatch.setitem(found, "clBuildProgram", lambda *given: -11)
        monkeypatch.setitem(found, "clGetProgramBuildInfo", log)
        with pytest.raises(
            DeviceError, match=r"clBuildProgram: error -11 of OpenCL: error: undefined reference"
        ) as told:
            on_device(artifact).load(folder)
    assert "more" not in str(told.value)


def test_missing_memory_of_the_device_is_told_from_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_intel_device(CHIP):
        calls = open_gpu(CHIP).calls
        monkeypatch.setitem(calls._found, "clFinish", lambda queue: -6)
        with pytest.raises(MemoryError, match="error -6 of OpenCL"):
            calls.call("clFinish", 0)
        monkeypatch.setitem(calls._found, "clFinish", lambda queue: -14)
        with pytest.raises(DeviceError, match="error -14 of OpenCL"):
            calls.call("clFinish", 0)


def test_a_driver_without_memory_by_address_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub_intel_device(CHIP):
        calls = open_gpu(CHIP).calls
        with pytest.raises(DeviceError, match="the OpenCL driver has no clMemFillAll"):
            calls.address("clMemFillAll")


def test_missing_opencl_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", missing)
    with pytest.raises(DeviceError, match=r"OpenCL is not installed: found no libOpenCL\.so\.1"):
        open_gpu.__wrapped__(CHIP)
