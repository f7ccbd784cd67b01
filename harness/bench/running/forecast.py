"""How long a run will take: a forecast from its groups, its budgets and what such a run took here before."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness import plugins
from harness.bench.running.check_pool import TIMED_EXECUTORS
from harness.bench.running.time_spent import BUILD, CHECK, TimeSpent
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.manifest import GPU_TARGETS, Manifest
from harness.system.digest import digest
from harness.system.errors import HarnessError
from harness.system.machine.cores import available_cores
from harness.system.numbers import Duration
from harness.system.plurals import about, counted
from harness.system.storage.cache_folder import cache_root
from harness.system.storage.replacing import write_text
from harness.system.validation import FrozenModel
from harness.targets.executors import wanted_executor

DURATIONS_FILE = "durations.json"
"""In the cache's folder: what runs took on this machine."""
MOST_REMEMBERED = 200
FIRST_CASES = 8
"""From so many on the cases that have ended may correct a forecast …"""
MISSED = 1.5
"""… that was wrong by such a factor."""


class Durations(FrozenModel):
    """What the parts of a run take.

    The defaults are from the runs in `results/reference`, on two cores of an AMD EPYC and of an Intel Xeon:
    by these they would take 0.9 to 1.2 of what they took.  The matrices on the emulator, whose problems are
    small, would take 0.55 to 1.3 of it.
    """

    build_s: Duration = 1.0
    """Seconds of a worker for a case that is not in the cache."""
    check_s: Duration = 1.0
    """Of a worker for a case, with its part of the oracle's time."""
    of_budget: Duration = 0.95
    """Part of the budgets that timings use."""
    else_s: Duration = 8.0
    """To start, and to write the report."""
    code: str = ""
    """Digest of the code that has built these cases here."""


_Remembered = TypeAdapter(dict[str, Durations])


@dataclass(frozen=True)
class Forecast:
    """What a run is going to do, and what that takes."""

    cases: int
    groups: int
    budget_s: float
    """Of each group."""
    jobs: int
    keys: tuple[str, ...]
    """Names of such runs on this machine: of the very same cases, and of the same experiment."""
    code: str
    durations: Durations
    """Those of such a run, else the usual ones."""
    slowdown: float = 1.0
    """By what builds and checks take longer here than usual, for others who use the processors."""

    @classmethod
    def of(
        cls, experiment: Experiment, cases: Sequence[Case], manifest: Manifest, *, timed: bool, jobs: int
    ) -> "Forecast":
        """Return the forecast of a run of these cases, which its manifest describes.

        The usual durations are those of a free machine, and others have their share of this one by its load.
        """
        emulated = {case.id for case in cases if is_emulated(case)}
        to_time = [case for case in cases if timed and experiment.is_timed(case) and case.id not in emulated]
        ids = sorted(case.id for case in cases)
        here = (manifest.processor, timed)
        keys = tuple(digest([what, *here])[:12] for what in (ids, experiment.name))
        code = digest([manifest.code_digest, manifest.plugin_code])
        remembered = _remembered()
        durations = next((remembered[key] for key in keys if key in remembered), None)
        slowdown = slowdown_by_others() if durations is None else 1.0
        groups, budget_s = len(experiment.groups(to_time)), experiment.timing.budget_s
        durations = durations or Durations()
        return cls(len(cases), groups, budget_s, jobs, keys, code, durations, slowdown)

    @property
    def seconds(self) -> float:
        """What the run takes: cases to be timed are checked one by one, others by all jobs."""
        took = self.durations
        build_s = 0.0 if took.code == self.code else took.build_s / self.jobs
        case_s = self.slowdown * (build_s + took.check_s / self._checked_together)
        return took.else_s + self.cases * case_s + self._budgets_s * took.of_budget

    def line(self) -> str:
        """Return the forecast in words."""
        line = f"{about(self.seconds)}: {counted(self.cases, 'case')} to build and check"
        if self.groups:
            line += f", {counted(self.groups, 'group')} timed for {self.budget_s:g} s at most"
        return line + others_in_words(self.slowdown)

    def correction(self, ended: int, spent_s: float) -> str | None:
        """Return how much longer the run takes by the cases that have ended, if that is not as forecast."""
        else_s = self.durations.else_s
        expected_s = else_s + (self.seconds - else_s) * ended / self.cases
        is_right = expected_s / MISSED < spent_s < expected_s * MISSED
        if is_right or not FIRST_CASES <= ended < self.cases:
            return None
        left_s = (self.cases - ended) * spent_s / ended
        return f"{about(left_s)} more: {ended} of {counted(self.cases, 'case')} took {spent_s:.0f} s"

    def remember(self, spent: TimeSpent) -> None:
        """Note what the run took that has ended, for the next forecast."""
        before, parts = self.durations, spent.by_part()
        is_new = before.code != self.code
        build_s = parts.get(BUILD, 0.0) * self.jobs / self.cases if is_new else before.build_s
        took = Durations(
            build_s=build_s,
            check_s=parts.get(CHECK, 0.0) * self._checked_together / self.cases,
            of_budget=spent.timing_s / self._budgets_s if self.groups else before.of_budget,
            else_s=max(0.0, spent.seconds - spent.timing_s - parts.get(BUILD, 0.0) - parts.get(CHECK, 0.0)),
            code=self.code,
        )
        same_cases, same_experiment = self.keys
        others = {name: known for name, known in _remembered().items() if name not in self.keys}
        latest = {same_experiment: took.model_copy(update={"code": ""}), same_cases: took}
        entries = list({**others, **latest}.items())[-MOST_REMEMBERED:]
        with contextlib.suppress(OSError, HarnessError):
            write_text(_file(), _Remembered.dump_json(dict(entries), indent=1).decode())

    @property
    def _budgets_s(self) -> float:
        return self.groups * self.budget_s

    @property
    def _checked_together(self) -> int:
        return 1 if self.groups else self.jobs


def slowdown_by_others() -> float:
    """Return how many times as long work takes here now as on a free machine, by its load."""
    return max(1.0, os.getloadavg()[0] / available_cores())


def others_in_words(slowdown: float) -> str:
    """Return what a forecast says behind its line where others use the machine."""
    if slowdown <= 1.0:
        return ""
    return f"; others use this machine: {slowdown:.1f} times as long as on a free one"


def what_is_emulated(experiment: Experiment, cases: Sequence[Case]) -> str | None:
    """Return a line that says what of the cases can be checked here without a device.

    None where all is emulated, or has a device.
    """
    emulated = [case for case in cases if is_emulated(case)]
    most = experiment.limits.emulated_gflop
    large = [case for case in emulated if case.problem.flops() > most * 1e9]
    if not large:
        return None
    return (
        f"{counted(len(emulated), 'case')} without a device here: "
        f"{len(large)} with more than {most:g} GFLOP (limits.emulated_gflop) are built and not run, "
        f"the emulator checks what it can of the other {len(emulated) - len(large)}"
    )


def is_emulated(case: Case) -> bool:
    """Return whether a case's code is emulated, or only built, for want of a device."""
    wanted = wanted_executor(case)
    if wanted is not None:
        return wanted not in TIMED_EXECUTORS
    if plugins.name_of(case.target) not in GPU_TARGETS:
        return False
    return plugins.target(case.target).why_no_device(plugins.chip_of(case.target)) is not None


def _remembered() -> dict[str, Durations]:
    try:
        return _Remembered.validate_json(_file().read_bytes())
    except (OSError, ValidationError, HarnessError):
        return {}


def _file() -> Path:
    return cache_root() / DURATIONS_FILE
