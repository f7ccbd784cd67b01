"""The test items: one for each case, a skip or a failure with the words that `harness check` uses."""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from harness.bench.running.context import LOGS
from harness.problem.case import Case
from harness.pytest_plugin.runs import ExperimentRun
from harness.reporting.outcomes import failure_of, headline, is_skipped, item_name
from harness.results.result import Result
from harness.system.errors import HarnessError
from harness.system.printable import printable

PROPERTIES = ("case", "status", "phase", "elapsed_s", "error_ratio", "time_s", "tflops", "speedup")
"""Columns of a row that JUnit and pytest-benchmark get."""

MARKED = ("dtype", "causal", "batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim")
"""Fields of a problem that `-m` selects by."""


class ExperimentFile(pytest.File):
    """The file of an experiment: its cases are the items."""

    run: ExperimentRun
    test: Callable[..., None]

    def collect(self) -> Iterator["CaseItem"]:
        """Yield an item for each case."""
        for case in self.run.cases:
            item: CaseItem = CaseItem.from_parent(self, name=item_name(case), callobj=self.test)
            item.describe(self.run, case)
            yield item


class CaseItem(pytest.Function):
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
        """Run the case, and note in the item what JUnit says of it."""
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
            lines = [failure, f"rerun: {row.rerun or self.run.rerun(self.case)}"]
            if self.run.folder is not None:
                log = self.run.folder.path / LOGS / f"{self.case.id}.log"
                lines += [f"log: {log}"] if log.is_file() else []
            pytest.fail("\n".join(map(printable, lines)), pytrace=False)
        if is_skipped(row):
            raise pytest.skip.Exception(headline(row), _use_item_location=True)


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


def properties(row: Result) -> dict[str, str | float]:
    """Return columns of a row as plain values, which reports carry from process to process."""
    values = {name: getattr(row, name) for name in PROPERTIES}
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in values.items()
        if value is not None
    }
