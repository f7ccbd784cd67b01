"""Times that the measured peak does not allow: either they are wrong, or the peak is."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_cases import example_case, example_experiment
from test_runner import run

from harness.results.row_maker import CaseRecord, MeasuredPeak
from harness.running import timing_checks
from harness.running.timing_checks import TimingChecks

POSSIBLE, IMPOSSIBLE = 1.0, 1e-12


class Checked:
    """Candidates of these times, whose peak is that of a target's code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
        self.dropped: list[str] = []
        self.faults: list[str] = []
        self.disbelieved: set[str] = set()
        monkeypatch.setattr(timing_checks, "code_packages", lambda target: {package})
        peaks = SimpleNamespace(
            of=lambda case: MeasuredPeak(1e9, 0.0), disbelieve=self._note, disbelieved=self.disbelieved
        )
        self._context: Any = SimpleNamespace(peaks=peaks)

    def _note(self, name: str, reason: str) -> None:
        self.disbelieved.add(name)
        self.faults.append(reason)

    def check(self, *claims: float, variants: Sequence[str] = ("a", "b", "c")) -> None:
        """Ask which of these times are possible; a candidate is called by its place."""
        case = example_case().model_copy(update={"target": "cpu"})
        records = {
            str(place): CaseRecord(case.model_copy(update={"variant": variant}))
            for place, variant in zip(range(len(claims)), variants, strict=False)
        }
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
    assert checked.faults[0].startswith("all 2 timed cases are more than 3 times as fast: a ")


def test_a_peak_that_was_told_as_wrong_is_asked_for_nothing_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch, "a_plugin")
    checked.check(IMPOSSIBLE)
    checked.check(POSSIBLE, IMPOSSIBLE)
    assert (checked.dropped, len(checked.faults)) == ([], 1)


def test_one_variant_alone_is_not_believed_before_our_own_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch, "harness")
    checked.check(IMPOSSIBLE, IMPOSSIBLE, variants=["flash", "flash"])
    assert checked.dropped == ["0", "1"]


def test_shares_of_ranks_are_compared_with_the_inputs_of_their_call(tmp_path: Path) -> None:
    experiment = example_experiment(
        ["split-head"],
        targets=["cpu"],
        problem={"seq": 16, "heads": 2, "head_dim": 8, "model_width": 16, "output_projection": True},
        variant={"split-head": {"ranks": [1, 2]}},
    )
    assert [(row.status, row.reason) for row in run(experiment, tmp_path).results] == [("passed", None)] * 2


@pytest.mark.parametrize(("package", "is_dropped"), [("harness", True), ("a_plugin", False)])
def test_one_alone_is_believed_before_the_peak_of_a_plugin(
    monkeypatch: pytest.MonkeyPatch, package: str, is_dropped: bool
) -> None:
    checked = Checked(monkeypatch, package)
    checked.check(IMPOSSIBLE)
    assert (checked.dropped == ["0"], bool(checked.faults)) == (is_dropped, not is_dropped)


@pytest.mark.usefixtures("example_plugin")
def test_inputs_of_the_same_output_do_not_make_code_wrong(tmp_path: Path) -> None:
    """Where a row sees one key at most, neither K nor what lies beyond the lengths matters."""
    experiment = example_experiment(
        ["all-forms"],
        problem={
            "seq_q": 4,
            "seq_kv": 16,
            "batch": 2,
            "heads": 2,
            "head_dim": 8,
            "kv_lengths": [[1, 1], [0, 0], [1, 0]],
        },
    )
    assert [(row.status, row.reason) for row in run(experiment, tmp_path).results] == [("passed", None)] * 3
