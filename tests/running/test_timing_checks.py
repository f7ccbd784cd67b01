"""Times that the measured peak does not allow: either they are wrong, or the peak is."""

from types import SimpleNamespace
from typing import Any

import pytest
from example_cases import example_case

from harness.results.row_maker import CaseRecord, MeasuredPeak
from harness.running import timing_checks
from harness.running.timing_checks import TimingChecks

POSSIBLE, IMPOSSIBLE = 1.0, 1e-12


class Checked:
    """Candidates of these times, whose peak is that of a target's code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
        self.dropped: list[str] = []
        self.faults: list[str] = []
        monkeypatch.setattr(timing_checks, "code_packages", lambda target: {package})
        peaks = SimpleNamespace(of=lambda case: MeasuredPeak(1e9, 0.0), note_fault=self._note)
        self._context: Any = SimpleNamespace(peaks=peaks)

    def _note(self, name: str, what: str, reason: str) -> None:
        self.faults.append(reason)

    def check(self, *claims: float) -> None:
        """Ask which of these times are possible; a candidate is called by its place."""
        case = example_case().model_copy(update={"target": "cpu"})
        records = {str(place): CaseRecord(case) for place in range(len(claims))}
        checks = TimingChecks(
            self._context, records, {}, lambda case, number: None, lambda case, why: self.dropped.append(case)
        )  # type: ignore[arg-type,return-value]
        checks.drop_what_is_impossible({str(place): claim for place, claim in enumerate(claims)})


@pytest.mark.parametrize("package", ["harness", "a_plugin"])
def test_one_that_is_far_faster_than_the_peak_and_others_has_no_time(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    checked = Checked(monkeypatch, package)
    checked.check(POSSIBLE, IMPOSSIBLE, POSSIBLE)
    assert (checked.dropped, checked.faults) == (["1"], [])


@pytest.mark.parametrize("package", ["harness", "a_plugin"])
def test_where_all_are_far_faster_than_the_peak_the_peak_is_wrong(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    checked = Checked(monkeypatch, package)
    checked.check(IMPOSSIBLE, IMPOSSIBLE)
    assert checked.dropped == []
    assert checked.faults[0].startswith("all 2 timed cases are more than 3 times as fast: numpy-attention")


@pytest.mark.parametrize(("package", "is_dropped"), [("harness", True), ("a_plugin", False)])
def test_one_alone_is_believed_before_the_peak_of_a_plugin(
    monkeypatch: pytest.MonkeyPatch, package: str, is_dropped: bool
) -> None:
    checked = Checked(monkeypatch, package)
    checked.check(IMPOSSIBLE)
    assert (checked.dropped == ["0"], bool(checked.faults)) == (is_dropped, not is_dropped)
