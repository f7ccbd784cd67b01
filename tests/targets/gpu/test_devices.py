"""Kernels launched through each vendor's driver, here on the emulator's stubs of the drivers."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_runs import built as built_for
from stubbed_device import on_device, stub_amd_device, stub_device, stub_intel_device

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Executable
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.errors import InputError, UnsupportedError
from harness.system.machine.gpus import GpuDevice
from harness.targets.executors import chosen_here, with_executor
from harness.targets.gpu.driver import DeviceError

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=70, seq_kv=70, head_dim=32, dtype="f16", causal=True)


@dataclass(frozen=True)
class Vendor:
    """A chip with a stub of its driver; the caches are small, so that emptying them takes no time."""

    target: str
    other_chip: str
    """Which does not run its code."""
    stub: Callable[..., AbstractContextManager[Any]]
    refusal: str

    @property
    def chip(self) -> str:
        return self.target.partition(":")[2]


VENDORS = [
    Vendor("cuda:sm_90", "sm_80", stub_device, "no kernels for this image"),
    Vendor("rocm:gfx90a", "gfx942", stub_amd_device, "no kernels for this image"),
    Vendor("xegpu:bmg", "pvc", stub_intel_device, r"clCreateProgramWithIL: error -42 of OpenCL"),
]


@dataclass(frozen=True)
class Built:
    """A case of several kernels with workspaces between them, to be loaded onto the device."""

    vendor: Vendor
    artifact: Artifact
    folder: Path

    def load(self) -> Executable:
        return on_device(self.artifact).load(self.folder)

    @contextmanager
    def call(self) -> Iterator[Any]:
        with self.vendor.stub(self.vendor.chip, self.artifact, self.folder):
            yield self.load().bind(make_inputs(PROBLEM, seed=5))


@pytest.fixture(scope="module", params=VENDORS, ids=lambda vendor: vendor.target)
def built(request: pytest.FixtureRequest) -> Built:
    vendor = request.param
    if vendor.target.startswith("cuda"):
        pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    return Built(vendor, *built_for(PROBLEM, vendor.target, "unfused"))


def test_the_kernels_compute_attention_into_poisoned_memory(built: Built) -> None:
    with built.call() as call:
        call.poison()
        assert np.isnan(call.output()).all()
        call.run()
        assert expect(make_inputs(PROBLEM, seed=5), PROBLEM).check(call.output()).ok


def test_a_sample_tells_kernels_time_from_launches(built: Built) -> None:
    with built.call() as call:
        one = call.sample(0.0)
        several = call.sample(12 * one.seconds)
    assert one.calls == 1
    assert several.calls >= 2
    assert one.seconds > 0
    assert one.device.timed_by == "events"
    assert one.device.launch_s is not None
    assert one.throttled is None


def test_code_runs_on_no_other_chip(built: Built) -> None:
    with (
        built.vendor.stub(built.vendor.other_chip),
        pytest.raises(UnsupportedError, match=f"no device for {built.vendor.chip}"),
    ):
        built.load()


def test_what_the_driver_refuses_is_one_line(built: Built) -> None:
    with built.vendor.stub(built.vendor.chip), pytest.raises(DeviceError, match=built.vendor.refusal):
        built.load()


def test_a_device_is_preferred_to_the_emulator(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_here(built.artifact).executor == "emulator"
    present = (GpuDevice("a device", built.vendor.chip),)
    monkeypatch.setattr("harness.targets.gpu.target.devices", lambda target: present)
    assert chosen_here(built.artifact).executor == "device"
    assert with_executor(chosen_here(built.artifact), "emulator").loader == built.artifact.loader


def test_why_a_device_cannot_be_asked_for_is_said(built: Built) -> None:
    target = built.vendor.target
    with pytest.raises(InputError, match=f"'device' cannot run target '{target}' here: no device"):
        with_executor(built.artifact, "device")
    with pytest.raises(InputError, match="found 'native', expected 'device' or 'emulator'"):
        with_executor(built.artifact, "native")


def test_a_reason_that_says_more_is_kept(built: Built) -> None:
    reason = "no device; the emulator refuses the code"
    refused = built.artifact.model_copy(
        update={"executor": "none", "loaders": built.artifact.loaders[:1], "why_not_run": reason}
    )
    assert chosen_here(refused).why_not_run == reason
