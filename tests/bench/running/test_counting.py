"""Hardware counters of timed cases, of targets that a test makes up."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from example_cases import example_case

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.bench.row_maker import CaseRecord
from harness.bench.running.counting import count, require_counters
from harness.problem.case import Case
from harness.system.errors import InputError, UnsupportedError


class Counting:
    """A target whose profiler may refuse."""

    refusal: str | None = None

    def why_no_counters(self, chip: str | None) -> str | None:
        return None

    def counters(self, case: Case, folder: Path, timeout_s: float) -> dict[str, float]:
        if self.refusal is not None:
            raise UnsupportedError(self.refusal)
        return {"matrix_busy": 0.5}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Counting:
    stand_in = Counting()
    monkeypatch.setattr(plugins, "target", lambda name: stand_in)
    return stand_in


@pytest.fixture
def context() -> SimpleNamespace:
    messages: list[str] = []
    observer = SimpleNamespace(message=messages.append)
    return SimpleNamespace(
        settings=SimpleNamespace(counters=True), step_limit_s=1.0, observer=observer, messages=messages
    )


def record_on(executor: str) -> CaseRecord:
    case = example_case()
    return CaseRecord(
        case, folder=Path("artifact"), artifact=Artifact(case=case, key="k", executor=executor, loader="m:f")
    )


def test_a_case_on_a_device_has_counters(target: Counting, context: SimpleNamespace) -> None:
    record = record_on("device")
    count(context, record)
    assert record.counters == {"matrix_busy": 0.5}


@pytest.mark.parametrize(("executor", "asks"), [("emulator", True), ("device", False)])
def test_what_stands_in_has_none_nor_has_who_does_not_ask(
    target: Counting, context: SimpleNamespace, executor: str, asks: bool
) -> None:
    context.settings.counters = asks
    record = record_on(executor)
    count(context, record)
    assert record.counters == {}


def test_a_profiler_that_refuses_costs_a_line_and_no_row(target: Counting, context: SimpleNamespace) -> None:
    target.refusal = "no permission"
    record = record_on("device")
    count(context, record)
    assert record.counters == {}
    (line,) = context.messages
    assert line.endswith("no permission")


def test_an_experiment_without_such_targets_is_refused() -> None:
    with pytest.raises(InputError, match=r"--counters: nothing reads hardware counters of the target cpu"):
        require_counters([example_case().model_copy(update={"target": "cpu"})])
