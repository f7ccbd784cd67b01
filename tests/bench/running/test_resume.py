"""What a resumed run keeps and what it does again, after it was killed or its cases have changed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from example_cases import example_experiment
from sweeps import sweep
from test_runner import Quiet, run

from harness.bench.running.runner import RunSummary
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.results.statistics import nested_interval
from harness.system.errors import InputError

pytestmark = pytest.mark.usefixtures("example_plugin")

RUN_THAT_KILLS_ITSELF = """
import os, signal, sys
from pathlib import Path
from test_resume import experiment
from test_runner import Quiet, run

out, event, last = sys.argv[1:]

class Kills(Quiet):
    seen = 0
    def note(self, event_now):
        Kills.seen += event_now == event
        if Kills.seen == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
    def started(self, case, phase):
        self.note(phase)
    def finished(self, case, result):
        self.note("finished")
    def round(self, group, number, widths):
        self.note("round")

run(experiment(), Path(out), Kills())
"""

EXPECTED = [
    ("numpy-attention", "passed"),
    ("numpy-attention", "passed"),
    ("raises", "crashed"),
    ("missing-dependency", "unsupported"),
]


def experiment(blocks: Sequence[int] = (4, 16)) -> Experiment:
    return example_experiment(
        ["numpy-attention", "raises", "missing-dependency"],
        baseline="numpy-attention",
        variant={"numpy-attention": {"block": list(blocks)}},
    )


def outcomes(summary: RunSummary) -> list[tuple[str, str]]:
    return [(row.variant, str(row.status)) for row in summary.results]


def journaled(folder: Path) -> list[str]:
    """Return the case of each line of the journal."""
    path = folder / "results.jsonl"
    return [json.loads(line)["case"] for line in path.read_text().splitlines()] if path.exists() else []


def change_key(folder: Path, case: str) -> None:
    """Make a journaled row one of an older build."""
    path = folder / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["key"] = "an older key" if row["case"] == case else row["key"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("event", "count"),
    sweep([("build", 2), ("round", 2), ("finished", 3)], but=[("round", 2)]),
)
def test_a_run_that_is_killed_goes_on_to_the_same_rows(event: str, count: int, tmp_path: Path) -> None:
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]]
    path = os.pathsep.join(folders)
    command = [sys.executable, "-c", RUN_THAT_KILLS_ITSELF, str(tmp_path), event, str(count)]
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert killed.returncode == -signal.SIGKILL
    folder = RunFolder.latest_in(tmp_path / "tiny")
    assert folder is not None
    rows_before, rounds_before = journaled(folder.path), folder.rounds()

    observer = Quiet()
    summary = run(experiment(), tmp_path, observer, resume=True)

    assert observer.messages[0].startswith(f"resuming run {folder.run}: ")
    assert summary.folder == folder.path
    assert outcomes(summary) == EXPECTED
    assert journaled(folder.path)[: len(rows_before)] == rows_before
    assert sorted(journaled(folder.path)) == sorted(row.case for row in summary.results)
    assert folder.rounds()[: len(rounds_before)] == rounds_before
    assert [taken.round for taken in folder.rounds()][:4] == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def finished_once(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run(experiment(), tmp_path_factory.mktemp("results"))


@pytest.fixture
def finished(finished_once: RunSummary, tmp_path: Path) -> RunSummary:
    """A run that has ended, in a folder that the test may change."""
    copy = tmp_path / "tiny" / finished_once.folder.name
    shutil.copytree(finished_once.folder, copy)
    return replace(finished_once, folder=copy)


def test_a_resumed_run_says_what_the_cases_without_a_row_will_take(
    finished: RunSummary, tmp_path: Path
) -> None:
    journal = finished.folder / "results.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    messages = []
    for _ in range(2):
        observer = Quiet()
        run(experiment(), tmp_path, observer, resume=True)
        messages.append([line for line in observer.messages if "to build and check" in line])
    ((line,), nothing_left) = messages
    assert ": 1 case to build and check" in line
    assert nothing_left == []


def test_a_check_that_goes_on_with_times_says_what_these_take(tmp_path: Path) -> None:
    run(experiment(), tmp_path, timed=False)
    observer = Quiet()
    timed = run(experiment(), tmp_path, observer, resume=True)
    (line,) = [line for line in observer.messages if "to build and check" in line]
    assert ": 2 cases to build and check, 1 group timed" in line
    assert None not in [row.time_s for row in timed.results[:2]]


def test_nothing_is_done_again_when_nothing_has_changed(finished: RunSummary, tmp_path: Path) -> None:
    before = journaled(finished.folder)
    observer = Quiet()
    summary = run(experiment(), tmp_path, observer, resume=True)
    assert summary.results == finished.results
    assert journaled(finished.folder) == before
    assert sorted(observer.kept_cases) == sorted(row.variant for row in summary.results)
    assert len(RunFolder.open(finished.folder).rounds()) == 4


def change_baseline_key(folder: Path, case: str) -> None:
    """Make a baseline's journaled row, and what is compared with it, of an older build of it."""
    change_key(folder, case)
    path = folder / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    older = [{**row, "baseline_key": "an older key"} if row["baseline_case"] == case else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in older))


def speedups(folder: Path) -> dict[object, bool]:
    """Return whether the timed rows of a run have a speed-up, by block size."""
    rows = RunFolder.open(folder).results()
    return {row.params["block"]: row.speedup is not None for row in rows if row.time_s is not None}


@pytest.mark.sweep
def test_a_baseline_that_is_timed_anew_alone_leaves_the_others_without_speed_up(
    finished: RunSummary, tmp_path: Path
) -> None:
    baseline, other = (row.case for row in finished.results[:2])
    change_baseline_key(finished.folder, baseline)
    before, observer = journaled(finished.folder), Quiet()
    run(experiment(), tmp_path, observer, cases=experiment().cases()[:1], resume=True)
    assert journaled(finished.folder)[len(before) :] == [baseline, other]
    assert speedups(finished.folder) == {4: True, 16: False}
    assert (
        "1 case without speed-up: timed apart from the baseline as it is now; "
        "--resume without --only times them beside it"
    ) in observer.messages
    again = Quiet()
    run(experiment(), tmp_path, again, resume=True)
    assert speedups(finished.folder) == {4: True, 16: True}
    assert not any("without speed-up" in message for message in again.messages)


@pytest.mark.sweep
def test_a_speed_up_over_older_code_of_the_baseline_is_measured_again(
    finished: RunSummary, tmp_path: Path
) -> None:
    baseline, other = (row.case for row in finished.results[:2])
    change_baseline_key(finished.folder, baseline)
    lines = (finished.folder / "results.jsonl").read_text().splitlines()
    newest = json.dumps(finished.results[0].model_dump(mode="json"))
    (finished.folder / "results.jsonl").write_text("".join(f"{line}\n" for line in [*lines, newest]))
    before = journaled(finished.folder)
    run(experiment(), tmp_path, resume=True)
    assert journaled(finished.folder) == [*before, other]
    rows = {row.case: row for row in RunFolder.open(finished.folder).results()}
    assert rows[other].baseline_key == rows[baseline].key == finished.results[0].key


@pytest.mark.sweep
def test_rows_of_another_baseline_or_of_none_are_timed_again(tmp_path: Path) -> None:
    of_none = experiment().model_copy(update={"baseline": None})
    before = run(of_none, tmp_path)
    assert [row.baseline for row in before.results[:2]] == [None, None]
    after = run(experiment(), tmp_path, resume=True)
    assert after.folder == before.folder
    assert [row.baseline for row in after.results[:2]] == ["numpy-attention"] * 2
    written = journaled(after.folder)
    run(experiment(), tmp_path, resume=True)
    assert journaled(after.folder) == written
    run(of_none, tmp_path, resume=True)
    assert [row.baseline for row in RunFolder.open(after.folder).results()[:2]] == [None, None]


def compared(folder: Path) -> dict[object, tuple[str | None, bool]]:
    """Return what each block size was compared with, and whether its speed-up is that of a baseline."""
    rows = RunFolder.open(folder).results()
    blocks = {row.case: row.params.get("block") for row in rows}
    return {
        blocks[row.case]: (
            None if row.baseline_case is None else str(blocks[row.baseline_case]),
            row.speedup == 1,
        )
        for row in rows
        if row.time_s is not None
    }


def times_of_samples(folder: Path) -> dict[str, tuple[float, int]]:
    """Return each case's time, and how many samples it is of, as the counted samples of a run give them."""
    samples = pandas.read_parquet(folder / "samples.parquet")
    counted = samples[samples["counted"]]
    times = {}
    for case, of_case in counted.groupby("case"):
        typical = nested_interval(of_case["seconds"], of_case["start"])
        times[str(case)] = (typical.value, len(of_case))
    return times


@pytest.mark.parametrize("is_of_one_group", sweep([True, False], but=[True]))
def test_samples_that_a_kept_baseline_spent_beside_others_are_not_counted_for_its_row(
    tmp_path: Path, is_of_one_group: bool
) -> None:
    whole = experiment()
    baseline, other = whole.cases()[:2]
    half = whole.timing.model_copy(update={"min_rounds": 2, "max_rounds": 2})
    first = [baseline, other] if is_of_one_group else [baseline]
    folder = run(whole.model_copy(update={"timing": half}), tmp_path, cases=first).folder
    kept = RunFolder.open(folder).results()[0]
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(first)
    (folder / "results.jsonl").write_text(f"{lines[0]}\n")
    run(whole, tmp_path, cases=[baseline, other], resume=True)
    rows = {row.case: row for row in RunFolder.open(folder).results()}
    assert (rows[baseline.id].time_s, rows[baseline.id].samples) == (kept.time_s, kept.samples)
    assert rows[other.id].speedup is not None
    samples = pandas.read_parquet(folder / "samples.parquet")
    assert set(samples.loc[~samples["counted"], "case"]) == {baseline.id}
    assert times_of_samples(folder) == {
        case: (pytest.approx(row.time_s), row.samples) for case, row in rows.items()
    }


@pytest.mark.sweep
def test_parts_of_a_run_have_the_baseline_of_the_whole(tmp_path: Path) -> None:
    whole = experiment().cases()
    first = run(experiment(), tmp_path, cases=whole[1:])
    assert compared(first.folder) == {16: ("16", True)}
    after = run(experiment(), tmp_path, resume=True)
    assert after.folder == first.folder
    assert compared(after.folder) == {4: ("4", True), 16: ("4", False)}


@pytest.mark.sweep
def test_a_part_without_the_baseline_of_its_run_has_no_other(finished: RunSummary, tmp_path: Path) -> None:
    other = finished.results[1]
    before = journaled(finished.folder)
    run(experiment(), tmp_path, cases=experiment().cases()[1:2], resume=True)
    assert journaled(finished.folder) == before
    change_key(finished.folder, other.case)
    observer = Quiet()
    alone = experiment().cases()[1:2]
    (repeated,) = run(experiment(), tmp_path, observer, cases=alone, resume=True).results
    assert any(
        message.startswith("1 case without speed-up: timed apart from the baseline")
        for message in observer.messages
    )
    assert (repeated.time_s is not None, repeated.baseline, repeated.speedup) == (True, None, None)
    run(experiment(), tmp_path, resume=True)
    assert compared(finished.folder) == {4: ("4", True), 16: ("4", False)}


@pytest.mark.sweep
def test_nothing_is_compared_with_a_baseline_that_has_failed_in_an_earlier_part(tmp_path: Path) -> None:
    wrong_with_large = example_experiment(
        ["overflows", "numpy-attention"],
        baseline="overflows",
        check={"distributions": ["normal", "large-logits"]},
    )
    baseline, other = wrong_with_large.cases()
    run(wrong_with_large, tmp_path, cases=[baseline])
    observer = Quiet()
    failed, right = run(wrong_with_large, tmp_path, observer, resume=True).results
    assert observer.kept_cases == ["overflows"]
    assert (failed.status, right.case, right.baseline, right.speedup) == ("wrong", other.id, None, None)
    assert right.time_s is not None
    assert f"no comparison with {baseline.describe()}: the baseline is wrong" in observer.messages


@pytest.mark.sweep
def test_a_row_that_is_compared_with_a_baseline_that_has_failed_since_is_timed_again(
    finished: RunSummary, tmp_path: Path
) -> None:
    path = finished.folder / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    (crashed,) = [row for row in rows if row["variant"] == "raises"]
    baseline, compared_with_it = finished.results[:2]
    failed = {**crashed, **baseline.model_dump(include={"case", "key", "variant", "params"})}
    rows = [failed if row["case"] == baseline.case else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = run(experiment(), tmp_path, resume=True)
    assert journaled(finished.folder) == [*(row["case"] for row in rows), compared_with_it.case]
    assert (summary.results[1].time_s is not None, summary.results[1].speedup) == (True, None)
    written = journaled(finished.folder)
    run(experiment(), tmp_path, resume=True)
    assert journaled(finished.folder) == written


def test_a_run_that_goes_on_is_not_resumed_by_another(tmp_path: Path) -> None:
    refused = example_experiment(["missing-dependency"])
    refusals: list[str] = []

    class ResumesAgain(Quiet):
        def finished(self, case: Case, result: Result) -> None:
            with pytest.raises(InputError) as caught:
                run(refused, tmp_path, resume=True)
            refusals.append(str(caught.value))

    first = run(refused, tmp_path, ResumesAgain())
    assert len(refusals) == 1
    assert "this run goes on already" in refusals[0]
    assert run(refused, tmp_path, resume=True).folder == first.folder, "the lock is given back"


def test_rounds_of_other_cases_and_keys_are_not_taken_up(finished: RunSummary, tmp_path: Path) -> None:
    (finished.folder / "results.jsonl").unlink()
    journal = finished.folder / "rounds.jsonl"
    rounds = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps({**taken, "group": "another"}) + "\n" for taken in rounds))
    summary = run(experiment(), tmp_path, cases=experiment().cases()[:2], resume=True)
    assert len(RunFolder.open(finished.folder).rounds()) == 2 * len(rounds)
    assert [row.samples for row in summary.results] == [4, 4]


@pytest.mark.sweep
def test_rows_of_another_parameter_set_of_the_baseline_are_compared_again(
    finished: RunSummary, tmp_path: Path
) -> None:
    assert compared(finished.folder) == {4: ("4", True), 16: ("4", False)}
    after = run(experiment([16, 4]), tmp_path, resume=True)
    assert after.folder == finished.folder
    assert compared(after.folder) == {4: ("16", False), 16: ("16", True)}
    written = journaled(after.folder)
    run(experiment([16, 4]), tmp_path, resume=True)
    assert journaled(after.folder) == written


def test_without_an_earlier_run_a_new_one_starts_and_says_so(tmp_path: Path) -> None:
    observer = Quiet()
    summary = run(example_experiment(["missing-dependency"]), tmp_path, observer, resume=True)
    assert observer.messages[0] == f"no run of tiny in {tmp_path} to resume: starting a new one"
    assert len(summary.results) == 1
