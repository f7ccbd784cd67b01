"""The targets cuda and rocm: chips, devices, and what can be done here."""

import pytest

from harness.emulator import native_library
from harness.problem.attention_problem import AttentionProblem
from harness.system.machine.gpus import GpuDevice
from harness.targets.base import TargetOptions
from harness.targets.cuda import CudaTarget
from harness.targets.gpu import target as gpu_target
from harness.targets.gpu.target import GpuTarget
from harness.targets.rocm import RocmTarget
from harness.targets.xegpu import XegpuTarget

PROBLEM = AttentionProblem(heads=1, seq_q=64, head_dim=64)
H100 = GpuDevice("NVIDIA H100", "sm_90")
MI300 = GpuDevice("AMD Instinct MI300X", "gfx942")
B580 = GpuDevice("Intel(R) Arc(TM) B580 Graphics", "bmg")


@pytest.fixture
def here(monkeypatch):
    """Say which devices are here; none and no driver, unless a test says otherwise."""

    def have(*devices: GpuDevice, driver: bool = True) -> None:
        monkeypatch.setattr(gpu_target, "devices", lambda name: devices if driver else None)

    have(driver=False)
    return have


@pytest.mark.parametrize(
    ("target", "chip", "device", "runs"),
    [
        (CudaTarget(), "sm_80", "sm_80", True),
        (CudaTarget(), "sm_80", "sm_90", True),
        (CudaTarget(), "sm_90", "sm_80", False),
        (CudaTarget(), "sm_90a", "sm_90", True),
        (CudaTarget(), "sm_90a", "sm_100", False),
        (CudaTarget(), "sm_80", "sm_120", True),
        (RocmTarget(), "gfx942", "gfx942", True),
        (RocmTarget(), "gfx942", "gfx950", False),
    ],
)
def test_which_device_runs_code_for_which_chip(target, chip, device, runs):
    assert target.runs_on(chip, device) is runs


def test_a_chip_that_is_left_open_is_that_of_the_device(here):
    assert CudaTarget().chip(None) == "sm_80"
    here(H100)
    assert CudaTarget().chip(None) == "sm_90"
    assert CudaTarget().chip("sm_86") == "sm_86"
    here(GpuDevice("an old one", "sm_61"))
    assert CudaTarget().chip(None) == "sm_80"


def test_the_device_is_named_and_what_stands_in_for_it(here, monkeypatch):
    monkeypatch.setattr(native_library, "compiler", lambda: ["cc"])
    assert CudaTarget().device("sm_80") == "emulated sm_80"
    assert RocmTarget().device(None) == "emulated gfx942"
    monkeypatch.setattr(native_library, "compiler", lambda: None)
    assert CudaTarget().device("sm_80") == "no device"
    here(H100)
    assert CudaTarget().device("sm_80") == "NVIDIA H100 (sm_90)"


@pytest.mark.parametrize(
    ("target", "builders", "driver", "device"),
    [
        (RocmTarget(), "this harness and IREE", "ROCm's HIP (libamdhip64.so)", MI300),
        (XegpuTarget(), "this harness", "OpenCL (libOpenCL.so.1)", B580),
    ],
)
def test_what_can_be_done_with_devices_and_without(
    here, monkeypatch, target: GpuTarget, builders: str, driver: str, device: GpuDevice
):
    def found(action: str) -> tuple[bool, str]:
        rows = {row.action: (row.available, row.detail) for row in target.capabilities()}
        return rows[action]

    monkeypatch.setattr(native_library, "compiler", lambda: None)
    assert found("build") == (True, f"by {builders}: chips {', '.join(target.descriptions)}")
    assert found("emulate") == (False, native_library.MISSING)
    assert found("run") == (False, f"no device: {driver} is not installed")
    assert target.why_no_device(device.chip) == f"no device: {driver} is not installed"
    monkeypatch.setattr(native_library, "compiler", lambda: ["gcc"])
    assert found("emulate") == (True, "device code on this processor, by gcc")
    here()
    assert found("run") == (False, "no device")
    here(device)
    assert found("run") == (True, f"{device.name} ({device.chip})")
    assert target.why_no_device(device.chip) is None
    other = next(chip for chip in target.descriptions if chip != device.chip)
    assert target.why_no_device(other) == f"no device for {other}, only {device.name} ({device.chip})"


def test_no_peak_is_made_up():
    assert CudaTarget().peak_flops("sm_80", "f16", TargetOptions()) is None
    assert CudaTarget().tile_sizes("sm_80", PROBLEM).query == 64
