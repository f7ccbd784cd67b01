import pytest
from synthetic_results import make_result

from harness.cli.runs import not_timed
from harness.status import Status
from harness.targets.gpu.target import GpuTarget


def test_what_the_emulator_executed_is_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GpuTarget, "why_no_device", lambda self, chip: f"no device for {chip}")
    emulated = make_result(target="cuda:sm_80", status=Status.EMULATED)
    assert not_timed([emulated, emulated, make_result(target="cpu", time_s=1.0)]) == [
        "cuda:sm_80: no device for sm_80; 2 cases executed by the emulator, which measures no time"
    ]


def test_what_was_timed_needs_no_line() -> None:
    assert not_timed([make_result(target="cpu", time_s=1.0)]) == []
