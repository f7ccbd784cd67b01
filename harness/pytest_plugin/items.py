"""The test items: one for each case, a skip or a failure with the words that `harness check` uses."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from harness.bench.running.context import LOGS
from harness.problem.case import Case
from harness.pytest_plugin.runs import ExperimentRun
from harness.reporting.outcomes import failure_of, headline, is_skipped
from harness.results.result import Result
from harness.system.errors import HarnessError
from harness.system.printable import printable

SPELLED = str.maketrans({"×": "x", "∞": "inf"})
"""Letters of a case's description that no keyboard has."""

PROPERTIES = ("case", "status", "phase", "elapsed_s", "error_ratio", "time_s", "tflops", "speedup")
"""Columns of a row that JUnit and pytest-benchmark get."""

MARKED = ("dtype", "causal", "batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")
"""Fields of a problem that `-m` selects by."""


class ExperimentFile(pytest.File):
    """The file of an experiment: its cases are the items."""

    def __init__(self, *, run: ExperimentRun, with_benchmarks: bool, **others: Any) -> None:
        """Collect the cases of a run; those that pass are benchmarks if that is asked for."""
        super().__init__(**others)
        self.run = run
        self._test = time_case if with_benchmarks else check_case

    def collect(self) -> Iterator["CaseItem"]:
        """Yield an item for each case."""
        for name, case in names_of(self.run.cases).items():
            item: CaseItem = CaseItem.from_parent(self, name=name, callobj=self._test)
            item.describe(self.run, case)
            yield item


class _NamedAsCached(pytest.Item):
    """An item whose id is what pytest reads from its own cache, for `--lf`, `--ff` and `--sw`.

    That takes what stands in brackets for parameters; of a name alone pytest makes another id.
    """

    def __init__(self, name: str, parent: pytest.File, **others: Any) -> None:
        others["nodeid"] = f"{parent.nodeid}::{name}"
        super().__init__(name, parent, **others)


class CaseItem(pytest.Function, _NamedAsCached):
    """A case that is built and checked, and timed if that is asked for."""

    run: ExperimentRun
    case: Case
    clock: Iterator[float]
    """What pytest-benchmark reads for a clock: 0 when a round begins, and at its end the next sample."""

    def describe(self, run: ExperimentRun, case: Case) -> None:
        """Let the item know its case, and `-k` and `-m` find it by that."""
        self.run, self.case = run, case
        self.extra_keyword_matches.update({case.id, run.experiment.name})
        fields = {name: getattr(case.problem, name) for name in MARKED}
        names = {"case": case.id, "variant": case.variant, "target": case.target}
        self.add_marker(pytest.mark.harness(**names, mask=case.problem.mask_name, **fields))
        if self.obj is time_case:
            group = f"{case.target} {case.problem.describe()}"
            self.add_marker(pytest.mark.benchmark(group=group, timer=lambda: next(self.clock, 0.0)))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the experiment, its first line, and which item this is."""
        return self.path, 0, self.name

    def row(self) -> Result:
        """Run the case, and note in the item what JUnit says of it.

        What is no case's fault, a full disk, ends the session.
        """
        try:
            row = self.run.row(self.case)
        except HarnessError as error:
            self.session.shouldfail = f"harness: {printable(str(error))}"
            pytest.fail(self.session.shouldfail, pytrace=False)
        self.user_properties += properties(row).items()
        return row

    def require_passed(self, row: Result) -> None:
        """Raise a failure or a skip with its reason, unless the case passed."""
        failure = failure_of(row, self.run.demands)
        if failure is not None:
            lines = [failure, f"rerun: {row.rerun or self.run.rerun(self.case)}", *self._log()]
            pytest.fail("\n".join(map(printable, lines)), pytrace=False)
        if is_skipped(row):
            pytest.skip(headline(row))

    def _log(self) -> list[str]:
        """Return a line that says where what the case's worker wrote is, if it wrote something."""
        if self.run.folder is None:
            return []
        log = self.run.folder.path / LOGS / f"{self.case.id}.log"
        return [f"log: {log}"] if log.is_file() else []

    def complete(self, report: pytest.TestReport) -> None:
        """Say where a skipped case stands, and how long a case took that was run together with others.

        Where every case must be checked, one that others skip fails; one that is expected to fail is checked.
        """
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if self.run.demands.is_strict and report.skipped and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = printable(f"not checked: {reason}") + f"\nrerun: {self.run.rerun(self.case)}"
        elif report.when == "call":
            if report.skipped and isinstance(report.longrepr, tuple):
                report.longrepr = (str(self.path), 0, report.longrepr[2])
            elapsed = dict(self.user_properties).get("elapsed_s")
            report.duration = elapsed if isinstance(elapsed, float) else report.duration


def check_case(request: pytest.FixtureRequest) -> None:
    """Check the case of the item that asks."""
    request.node.require_passed(request.node.row())


def time_case(request: pytest.FixtureRequest, benchmark: Any) -> None:
    """Hand the harness's own samples to pytest-benchmark; nothing is timed a second time."""
    item = request.node
    row = item.row()
    samples = item.run.samples(item.case) if row.time_s is not None else []
    if not samples:
        benchmark.disabled = True  # it has no statistics, and misses none
    item.clock = chain.from_iterable((0.0, sample) for sample in samples)
    benchmark.extra_info.update(properties(row))
    benchmark.pedantic(item.require_passed, args=(row,), rounds=max(1, len(samples)))


def names_of(cases: Sequence[Case]) -> dict[str, Case]:
    """Return cases by their names as items, `flash[cpu-b1-h8-s256-d64-f32-causal-threads=2]`.

    Where two would have the same, as of problems with other lengths in one batch, ids tell them apart.
    """
    names = [_name(case) for case in cases]
    counts = Counter(names)
    return {
        name if counts[name] == 1 else f"{name[:-1]}-{case.id}]": case
        for name, case in zip(names, cases, strict=True)
    }


def properties(row: Result) -> dict[str, str | float]:
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
