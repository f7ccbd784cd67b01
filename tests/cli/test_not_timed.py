from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.runs import not_timed
from harness.system.status import Status
from harness.targets.gpu.target import GpuTarget


def row(target: str, status: Status, executor: str = "emulator") -> Any:
    return SimpleNamespace(target=target, status=status, executor=executor)


def test_what_the_emulator_executed_is_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GpuTarget, "why_no_device", lambda self, chip: f"no device for {chip}")
    emulated = row("cuda:sm_80", Status.EMULATED)
    assert not_timed([emulated, emulated, row("cpu", Status.PASSED)]) == [
        "cuda:sm_80: no device for sm_80; 2 cases executed by the emulator, which measures no time"
    ]


def test_what_stands_in_for_a_device_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GpuTarget, "why_no_device", lambda self, chip: None)
    assert not_timed([row("xegpu:bmg", Status.EMULATED, "opencl"), row("xegpu:bmg", Status.EMULATED)]) == [
        "xegpu:bmg: 1 case executed by OpenCL on the processor, which measures no time",
        "xegpu:bmg: 1 case executed by the emulator, which measures no time",
    ]


def test_what_was_timed_needs_no_line() -> None:
    assert not_timed([row("cpu", Status.PASSED)]) == []
