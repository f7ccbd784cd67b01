"""The test items: one for each case, a skip or a failure with the words that `harness check` uses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.errors import HarnessError
from harness.printable import printable
from harness.problem.case import Case
from harness.pytest_plugin.runs import ExperimentRun
from harness.reporting.outcomes import failure_of, headline, is_skipped
from harness.results.result import Result
from harness.running.context import LOGS

SPELLED = str.maketrans({"×": "x", "∞": "inf"})
"""Letters of a case's description that no keyboard has."""

BAD_INPUT = 2
"""Exit status of `harness` where a run cannot go on."""

ENDED_BY = "harness_ended_by"
"""Where a worker of pytest-xdist tells its controller why it has ended the session."""

PROPERTIES = ("case", "status", "phase", "error_ratio", "time_s", "tflops", "speedup")
"""Columns of a row that JUnit gets as properties."""

MARKED = ("dtype", "causal", "batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")
"""Fields of a problem that `-m` selects by."""

DISABLED = (
    "pytest-benchmark is disabled (--benchmark-disable, or pytest-xdist's --dist): "
    "it has no statistics of the times, which are in the run's folder"
)


class ExperimentFile(pytest.File):
    """The file of an experiment: its cases are the items."""

    def __init__(self, *, run: ExperimentRun, with_benchmarks: bool, **others: Any) -> None:
        """Collect the cases of a run; those that pass are benchmarks if that is asked for."""
        super().__init__(**others)
        self.run = run
        self._item = TimedCase if with_benchmarks else CheckedCase

    def collect(self) -> Iterator["CheckedCase | TimedCase"]:
        """Yield an item for each case."""
        for name, case in names_of(self.run.cases).items():
            yield self._item.of(self, name, case)


class CaseItem(pytest.Item):
    """What the items of cases share: how pytest calls them."""

    run: ExperimentRun
    case: Case

    def __init__(self, name: str, parent: ExperimentFile, **others: Any) -> None:
        """Make an item whose id is what pytest reads from its own cache, for `--lf`, `--ff` and `--sw`.

        That takes what stands in brackets for parameters; of a name alone pytest makes another id.
        """
        others["nodeid"] = f"{parent.nodeid}::{name}"
        super().__init__(name, parent, **others)

    def describe(self, run: ExperimentRun, case: Case) -> None:
        """Let the item know its case, and `-k` and `-m` find it by that."""
        self.run, self.case = run, case
        self.extra_keyword_matches.update({case.id, run.experiment.name})
        fields = {name: getattr(case.problem, name) for name in MARKED}
        names = {"case": case.id, "variant": case.variant, "target": case.target}
        self.add_marker(pytest.mark.harness(**names, mask=case.problem.mask_name, **fields))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the experiment, its first line, which skips are told with, and which item this is."""
        return self.path, 0, self.name


class CheckedCase(CaseItem):
    """A case that is built and checked."""

    @classmethod
    def of(cls, parent: ExperimentFile, name: str, case: Case) -> "CheckedCase":
        """Return the item of a case."""
        item = cls.from_parent(parent, name=name)
        item.describe(parent.run, case)
        return item

    def runtest(self) -> None:
        """Raise what pytest knows as a failure or a skip, unless the case passed."""
        tell(self, row_of(self))


class TimedCase(pytest.Function, CaseItem):
    """A case that is built, checked and timed, as an item of pytest-benchmark."""

    timer: "Replay"

    @classmethod
    def of(cls, parent: ExperimentFile, name: str, case: Case) -> "TimedCase":
        """Return the item of a case."""
        item = cls.from_parent(parent, name=name, callobj=timed)
        item.describe(parent.run, case)
        item.timer = Replay()
        group = " ".join([case.target, case.problem.describe()])
        item.add_marker(pytest.mark.benchmark(group=group, timer=item.timer))
        return item

    reportinfo = CaseItem.reportinfo


class Replay:
    """A clock that shows samples which were taken elsewhere: each second look is that much later."""

    def __init__(self) -> None:
        self._samples: Iterator[float] = iter(())
        self._is_running = False

    def load(self, samples: Iterable[float]) -> None:
        """Show these seconds, one after the other."""
        self._samples = iter(samples)

    def __call__(self) -> float:
        """Return 0 when a round begins, and at its end the next sample."""
        self._is_running = not self._is_running
        return 0.0 if self._is_running else next(self._samples, 0.0)


def timed(request: pytest.FixtureRequest, benchmark: Any) -> None:
    """Hand the harness's own samples to pytest-benchmark; nothing is timed a second time."""
    item = request.node
    row = row_of(item)
    samples = item.run.samples(item.case) if row.time_s is not None else []
    if samples and benchmark.disabled and DISABLED not in item.run.notes.lines:
        item.run.notes.message(DISABLED)
    if not samples:
        benchmark.disabled = True  # it has no statistics, and misses none
    item.timer.load(samples)
    benchmark.extra_info.update(_properties(row))
    benchmark.pedantic(tell, args=(item, row), rounds=max(1, len(samples)))


def names_of(cases: Sequence[Case]) -> dict[str, Case]:
    """Return cases by their names as items, `flash[cpu-b1-h8-s256-d64-f32-causal-threads=2]`.

    Where two would have the same, as of problems with other lengths in one batch, ids tell them apart.
    """
    counts = Counter(map(_name, cases))
    return {
        name if counts[name] == 1 else f"{name[:-1]}-{case.id}]": case
        for name, case in zip(map(_name, cases), cases, strict=True)
    }


def row_of(item: CaseItem) -> Result:
    """Run an item's case, and note in the item what JUnit says of it.

    What is no case's fault, a full disk, ends the session: that of a worker of pytest-xdist ends with the
    reason for its controller.
    """
    try:
        row = item.run.row(item.case)
    except HarnessError as error:
        getattr(item.config, "workeroutput", {})[ENDED_BY] = str(error)
        end_session(str(error))
    if not item.user_properties:
        item.user_properties += _properties(row).items()
    return row


def end_session(reason: str) -> NoReturn:
    """End a session of pytest where its cases cannot go on."""
    pytest.exit(f"harness: {printable(reason)}", returncode=BAD_INPUT)


def tell(item: CaseItem, row: Result) -> None:
    """Raise a failure or a skip with its reason, unless a case passed."""
    failure = failure_of(row, item.run.demands)
    if failure is not None:
        lines = [failure, f"rerun: {row.rerun or item.run.rerun(item.case)}", *_log_of(item)]
        pytest.fail("\n".join(map(printable, lines)), pytrace=False)
    if is_skipped(row):
        pytest.skip(headline(row))


def complete_report(item: CaseItem, report: pytest.TestReport) -> None:
    """Say where a skipped case stands, and how long a case took that was run together with others.

    Where every case must be checked, one that others skip fails; one that is expected to fail is checked.
    """
    told = report.longrepr
    is_expected = report.when == "call" and hasattr(report, "wasxfail")
    if item.run.demands.is_strict and report.skipped and not is_expected:
        reason = told[2] if isinstance(told, tuple) else getattr(report, "wasxfail", told)
        report.outcome = "failed"
        report.longrepr = printable(f"not checked: {reason}") + f"\nrerun: {item.run.rerun(item.case)}"
    elif report.when == "call":
        if report.skipped and isinstance(told, tuple):
            report.longrepr = (str(item.path), 0, told[2])
        elapsed = item.run.elapsed_s(item.case)
        report.duration = report.duration if elapsed is None else elapsed


def _properties(row: Result) -> dict[str, str | float]:
    """Return columns of a row as plain values, which reports carry from process to process."""
    values = {name: getattr(row, name) for name in PROPERTIES}
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in values.items()
        if value is not None
    }


def _name(case: Case) -> str:
    _, *words = case.describe().split(" · ")
    name = f"{case.variant}[{'-'.join(' '.join(words).split())}]"
    return name.translate(SPELLED).encode("ascii", "backslashreplace").decode()


def _log_of(item: CaseItem) -> list[str]:
    """Return a line that says where what a case's worker wrote is, if it wrote something."""
    if item.run.folder is None:
        return []
    log = item.run.folder.path / LOGS / f"{item.case.id}.log"
    return [f"log: {item.run.shown(log)}"] if log.is_file() else []
