"""Two runs, case by case.

How the times of a case compare depends on what else the runs have in common, best first:

- *identical*: the machine code and its launch are the same (`binary_digest`): the same, without its times;
- *paired*: both runs timed it in turn with a baseline whose code is the same in both; what is compared are
  the two speed-ups over it, of rounds in which both took turns, so that what was different for all is gone;
- *controlled*: other cases of its kind have identical code in both runs; what the runs differ by for these,
  the median of their ratios, is taken off, and what they scatter by is added to the error, see `_controlled`;
- *apart*: nothing is known of how the machine was, and `RUN_TO_RUN` is added to the error.

Cases are of a kind that have device, target and number of threads in common (`KIND`).  Controls tell in which
state the machine was: its clocks, its heat, and what else ran on it.  A processor's state says nothing of a
GPU's, that of one busy core little of all cores', and vectors of another width may run at another clock.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.bench.comparing.outputs import compare_outputs
from harness.bench.comparing.run_notes import notes_on_runs
from harness.bench.comparing.verdicts import joint_degrees, reach_of, standard_error, verdicts
from harness.results.statistics import RUN_TO_RUN, Verdict
from harness.system.errors import InputError
from harness.system.status import FAILURES, Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.run_folder import RunFolder

LEAST_CONTROLS = 3
"""Cases of a kind with identical code that tell how two runs differ for it; fewer may share their luck."""
KIND = ("device_new", "target", "threads")
"""Columns that say which controls a case has: those with the same values; a missing one counts as a value."""

TIME_BOUNDS = {
    f"time_{bound}_s_{run}": f"time_s_{bound}_{run}" for bound in ("low", "high") for run in ("old", "new")
}
"""Columns of the bounds of times, and their names as those of speed-ups are made."""

CHECKED = (Status.PASSED.value, Status.EMULATED.value)
OF_NO_MACHINE = tuple(
    status.value for status in (Status.EMULATED, Status.BUILT, Status.UNSUPPORTED, Status.BUILD_FAILED)
)
"""What becomes of a case without any device that runs it."""
FAILED = tuple(status.value for status in FAILURES)
DEFAULT_THRESHOLD = 0.03

OUTCOME = ("status", "device", "reason", "checked_inputs", "time_s", "time_low_s", "time_high_s")
SPEEDUPS = ("speedup", "speedup_low", "speedup_high", "baseline_case", "binary_digest", "flop_convention")
COMPARED = (*OUTCOME, *SPEEDUPS)
"""Columns of which a comparison has those of both runs."""


@dataclass(frozen=True)
class Comparison:
    """What two runs say of the cases that both have, and of those that one has."""

    old: "RunFolder"
    new: "RunFolder"
    threshold: float
    cases: "pd.DataFrame"
    """A row for each case of both: `case`, `how`, `verdict`, `ratio`, `low`, `high`, the problem, and the
    columns of both runs with `_old` and `_new` behind their names; where times do not compare, `verdict` is
    missing, and where nothing bounds a ratio, `low` and `high` are."""
    outputs: "pd.DataFrame"
    """A row for each output that both runs keep, see `harness.bench.comparing.outputs`."""
    only_old: "pd.DataFrame"
    only_new: "pd.DataFrame"
    notes: tuple[str, ...]
    """What a person should know of how the runs compare, a line each."""
    made_by: tuple[str, ...] = ()
    """The command line that made the runs in turn; none where they were there before."""

    @property
    def runs(self) -> "dict[str, RunFolder]":
        """Both runs, by what they are called."""
        return {"old": self.old, "new": self.new}

    def of_verdict(self, verdict: Verdict, most: int | None = None) -> "pd.DataFrame":
        """Return the cases of a verdict, or at most so many, the largest difference first."""
        places = np.flatnonzero(self.cases["verdict"] == verdict.value)
        differences = np.abs(np.log(self.cases["ratio"].to_numpy()[places]))
        return self.cases.iloc[places[np.argsort(-differences, kind="stable")[:most]]]

    def count(self, verdict: Verdict) -> int:
        """Return how many cases have a verdict."""
        return int((self.cases["verdict"] == verdict.value).sum())

    @property
    def identical(self) -> int:
        """How many cases have the same code in both runs, whose times are not looked at."""
        return int((self.cases["how"] == "identical").sum())

    @property
    def lost(self) -> "pd.DataFrame":
        """The cases that were right and are not any more, or are no longer checked."""
        return self.cases[self.cases["was_checked"] & ~self.cases["is_checked"]]

    @property
    def won(self) -> "pd.DataFrame":
        """The cases that are right now and were not."""
        return self.cases[~self.cases["was_checked"] & self.cases["is_checked"]]

    @property
    def failed(self) -> "pd.DataFrame":
        """The cases that failed in both runs, each in its own way or in the same."""
        return self.cases[self.cases["status_old"].isin(FAILED) & self.cases["status_new"].isin(FAILED)]

    @property
    def failing(self) -> "pd.DataFrame":
        """The cases that fail now and were neither right nor failing, such as those unsupported before."""
        was_neither = ~self.cases["was_checked"] & ~self.cases["status_old"].isin(FAILED)
        return self.cases[was_neither & self.cases["status_new"].isin(FAILED)]

    @property
    def never_checked(self) -> "pd.DataFrame":
        """The cases that neither run has checked, for whatever other reason than that the new one failed."""
        failed = self.cases["status_new"].isin(FAILED)
        return self.cases[~self.cases["was_checked"] & ~self.cases["is_checked"] & ~failed]

    @property
    def not_compared(self) -> dict[str, int]:
        """How many cases that are right in both runs have no verdict of times, by the reason."""
        cases = self.cases
        is_meant = cases["was_checked"] & cases["is_checked"] & cases["verdict"].isna()
        old, new = (cases[f"time_s_{run}"].notna() for run in ("old", "new"))
        places = {
            "not timed in the old run": ~old & new,
            "not timed in the new run": old & ~new,
            "timed in neither run": ~old & ~new,
            "timed on another device": old & new,
        }
        counts = {reason: int((is_meant & place).sum()) for reason, place in places.items()}
        return {reason: count for reason, count in counts.items() if count}

    @property
    def is_worse(self) -> bool:
        """Whether a case is no longer right, or slower by more than the threshold."""
        return bool(len(self.lost) or (self.cases["verdict"] == Verdict.SLOWER.value).any())


def compare_runs(old: "RunFolder", new: "RunFolder", threshold: float = DEFAULT_THRESHOLD) -> Comparison:
    """Compare two runs; raises `InputError` where they have no case in common, or other machines."""
    tables = [run.table() for run in (old, new)]
    cases, notes = compare_tables(tables[0], tables[1], threshold)
    if cases.empty:
        raise InputError(
            f"{new.place}: it has no case of {old.place}; expected two runs of the same cases (problem, "
            "variant, target and parameters)"
        )
    _require_one_machine(cases, old, new)
    notes += notes_on_runs(cases, old, new)
    only_old, only_new = (table[~table["case"].isin(cases["case"])] for table in tables)
    outputs = compare_outputs(old, new, cases)
    return Comparison(old, new, threshold, cases, outputs, only_old, only_new, tuple(notes))


def compare_tables(
    old: "pd.DataFrame", new: "pd.DataFrame", threshold: float = DEFAULT_THRESHOLD
) -> tuple["pd.DataFrame", list[str]]:
    """Return `Comparison.cases` of two tables of results, and what is to be known of how times compare."""
    cases = _joined(_narrow(old), _narrow(new))
    cases["was_checked"] = cases["status_old"].isin(CHECKED)
    cases["is_checked"] = cases["status_new"].isin(CHECKED)
    return cases, _add_times(cases, threshold)


def _columns() -> list[str]:
    """Return the columns that are compared, and those that say what a case is."""
    from harness.reporting.frames import PROBLEM_COLUMNS

    return list(dict.fromkeys(("case", "variant", *PROBLEM_COLUMNS, "params", *COMPARED)))


def _narrow(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return these columns of the last row of each case."""
    return table.reindex(columns=_columns()).drop_duplicates("case", keep="last")


def _joined(old: "pd.DataFrame", new: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of the cases of both, in the old run's order; a problem is that of the new run.

    What is compared has `_old` and `_new` behind its name.
    """
    return old[["case", *COMPARED]].merge(new, on="case", suffixes=("_old", "_new"))


def _require_one_machine(cases: "pd.DataFrame", old: "RunFolder", new: "RunFolder") -> None:
    """Raise `InputError` where all that ran in both runs, or was timed in both, is of different devices.

    A row without a device is of that of its manifest.
    """
    timed = cases["time_s_old"].notna() & cases["time_s_new"].notna()
    ran = ~cases["status_old"].isin(OF_NO_MACHINE) & ~cases["status_new"].isin(OF_NO_MACHINE)
    meant = timed if timed.any() else ran
    devices = [
        cases.loc[meant, f"device_{name}"].fillna(run.manifest.device)
        for name, run in (("old", old), ("new", new))
    ]
    if meant.any() and (devices[0] != devices[1]).all():
        names = [", ".join(sorted(set(run_devices))) for run_devices in devices]
        raise InputError(
            f"{new.place}: measured on {names[1]}, {old.place} on {names[0]}; expected runs of one machine"
        )


def _same_device(cases: "pd.DataFrame") -> "pd.Series":
    return cases["device_old"] == cases["device_new"]


@dataclass(frozen=True)
class _Ratios:
    """New times over old ones, and the standard errors of their logarithms with their degrees of freedom."""

    values: np.ndarray
    errors: np.ndarray
    degrees: np.ndarray

    @classmethod
    def of(cls, cases: "pd.DataFrame", name: str, *, is_rate: bool = False) -> "_Ratios":
        """Return the ratios of a column that has bounds; of rates the old one is the numerator."""
        old, new = (_column(cases, f"{name}_{run}") for run in ("old", "new"))
        errors = [
            standard_error(_column(cases, f"{name}_low_{run}"), _column(cases, f"{name}_high_{run}"))
            for run in ("old", "new")
        ]
        return cls(old / new if is_rate else new / old, np.hypot(*errors), np.full(len(old), np.inf))


def _add_times(cases: "pd.DataFrame", threshold: float) -> list[str]:
    """Add how times compare to the table, in place; returns what is to be known of that."""
    timed = (cases["time_s_old"].notna() & cases["time_s_new"].notna() & _same_device(cases)).to_numpy()
    identical = timed & identical_code(cases)
    paired = timed & ~identical & _paired(cases, identical)
    apart = timed & ~identical & ~paired
    times = _Ratios.of(cases.rename(columns=TIME_BOUNDS), "time_s")
    speedups = _Ratios.of(cases, "speedup", is_rate=True)
    corrected, how, notes = _corrected(times, identical, apart, _Kinds.of(cases))
    kinds = [identical, paired, apart]
    ratio = np.select(kinds, [np.ones(len(cases)), speedups.values, corrected.values], np.nan)
    error = np.select(kinds, [np.zeros(len(cases)), speedups.errors, corrected.errors], np.nan)
    case_verdicts = np.full(len(cases), None, dtype=object)
    case_verdicts[identical] = Verdict.SAME.value
    judged = paired | apart
    degrees = np.where(apart, corrected.degrees, speedups.degrees)
    case_verdicts[judged] = verdicts(ratio[judged], error[judged], threshold, degrees[judged])
    reach = np.exp(reach_of(np.where(np.isfinite(error), error, np.nan), degrees))
    cases["how"] = np.select(kinds, ["identical", "paired", how], "")
    cases["verdict"], cases["ratio"] = case_verdicts, ratio
    cases["low"], cases["high"] = ratio / reach, ratio * reach
    return notes


def _corrected(
    times: _Ratios, identical: np.ndarray, apart: np.ndarray, kinds: "_Kinds"
) -> tuple[_Ratios, np.ndarray, list[str]]:
    """Return ratios of times without what the runs differ by for all cases of a kind, how, and notes.

    How a ratio is known is *controlled* or *apart*, for each case.  The notes tell of kinds with cases that
    are judged by their times.
    """
    values, errors, degrees = times.values.copy(), np.hypot(times.errors, RUN_TO_RUN), times.degrees.copy()
    how = np.full(len(values), "apart", dtype=object)
    notes, without = [], []
    for kind in np.unique(kinds.numbers[apart]):
        of_kind = kinds.numbers == kind
        controls = np.log(times.values[of_kind & identical])
        if len(controls) < LEAST_CONTROLS:
            without.append(kinds.name(kind))
            continue
        drift = float(np.median(controls))
        scatter = float(np.sqrt(np.sum((controls - drift) ** 2) / (len(controls) - 1)))
        values[of_kind] /= np.exp(drift)
        errors[of_kind], degrees[of_kind] = _controlled(times.errors[of_kind], scatter, len(controls))
        how[of_kind] = "controlled"
        notes.append(
            f"{len(controls)} cases of identical code took {np.exp(drift):.3f} of their time in the new run, "
            f"give or take {100 * scatter:.1f} % ({kinds.name(kind)}): that is taken off others of this "
            "device, target and number of threads, and added to their errors"
        )
    if without:
        notes.append(
            f"nothing says how the machine was in both runs ({'; '.join(without)}), no common baseline and "
            "few other cases of identical code of the same device, target and number of threads: "
            f"their times are not corrected, {100 * RUN_TO_RUN:.0f} % are added to errors"
        )
    return _Ratios(values, errors, degrees), how, notes


def _controlled(own: np.ndarray, scatter: float, controls: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of ratios that a median of controls is taken off, and their degrees of freedom.

    A case differs from what the runs differ by as much as a control does.  The median of n controls errs,
    too, by √(π/2n) of that.  What so few controls scatter by is an estimate with n − 1 degrees of freedom.
    """
    between_runs = np.full(len(own), scatter * math.sqrt(1 + math.pi / (2 * controls)))
    return np.hypot(own, between_runs), joint_degrees(own, between_runs, controls - 1)


@dataclass(frozen=True)
class _Kinds:
    """Of which kind cases are, see `KIND`."""

    cases: "pd.DataFrame"
    numbers: np.ndarray
    """The kind of each case, as a number."""

    @classmethod
    def of(cls, cases: "pd.DataFrame") -> "_Kinds":
        """Return the kinds of cases; those that another device timed in the old run do not matter."""
        from harness.reporting.distinct import numbered

        return cls(cases, numbered(cases, KIND))

    def name(self, number: int) -> str:
        """Return what a kind is called: its device, its target and, where they are known, its threads."""
        from harness.reporting.frames import is_missing

        first = int(np.argmax(self.numbers == number))
        device, target, threads = (self.cases[name].iloc[first] for name in KIND)
        name_parts = [str(target), *([] if is_missing(threads) else [f"threads={int(threads)}"]), str(device)]
        return ", ".join(name_parts)


def _column(cases: "pd.DataFrame", name: str) -> np.ndarray:
    """Return a column of numbers, not a number where there is none."""
    return cases[name].to_numpy(dtype=np.float64, na_value=np.nan)


def identical_code(cases: "pd.DataFrame") -> np.ndarray:
    """Return which cases have the same machine code in both runs."""
    digests = cases["binary_digest_old"], cases["binary_digest_new"]
    same = digests[0].notna() & digests[1].notna() & (digests[0] == digests[1])
    return same.to_numpy(dtype=bool)


def _paired(cases: "pd.DataFrame", identical: np.ndarray) -> np.ndarray:
    """Return which cases were timed in turn with one baseline in both runs, whose code is the same."""
    baseline = cases["baseline_case_old"]
    shared = baseline.notna() & (baseline == cases["baseline_case_new"])
    bounded = cases[["speedup_low_old", "speedup_low_new"]].notna().all(axis=1)
    has_same_code = baseline.isin(cases["case"][identical])
    return (shared & bounded & has_same_code).to_numpy(dtype=bool)
