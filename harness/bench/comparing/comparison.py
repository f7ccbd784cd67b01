"""Two runs, case by case.

How the times of a case compare depends on what else the runs have in common, best first:

- *identical*: the machine code and its launch are the same (`binary_digest`): the same, without its times;
- *in turn*: two revisions took turns round by round (`harness.bench.comparing.turns`); the ratio is of these
  rounds (`harness.bench.comparing.turns_taken`);
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
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from harness.bench.comparing.outputs import compare_outputs
from harness.bench.comparing.run_notes import notes_on_runs
from harness.bench.comparing.turns_taken import IN_TURN, TURN_COLUMNS, times_in_turn
from harness.bench.comparing.verdicts import Margins, joint_degrees, reach_of, standard_error, verdicts
from harness.reporting.distinct import numbered
from harness.reporting.frames import PROBLEM_COLUMNS, is_missing
from harness.results.run_folder import RunFolder
from harness.results.statistics import RUN_TO_RUN, Verdict
from harness.system.errors import InputError
from harness.system.status import FAILURES, Status

LEAST_CONTROLS = 3
"""Cases of a kind with identical code that tell how two runs differ for it; fewer may share their luck."""
KIND = ("device_new", "target", "threads")
"""Columns that say which controls a case has: those with the same values; a missing one counts as a value."""

CHECKED = (Status.PASSED.value, Status.EMULATED.value)
OF_NO_MACHINE = tuple(
    status.value for status in (Status.EMULATED, Status.BUILT, Status.UNSUPPORTED, Status.BUILD_FAILED)
)
"""What becomes of a case without any device that runs it."""
USUAL = Margins()
FAILED = tuple(status.value for status in FAILURES)

TIMES = ("time_s", "time_low_s", "time_high_s")
SPEEDUPS = ("speedup", "speedup_low", "speedup_high")
"""Columns of a quantity, and of its lower and its upper bound."""
COMPARED = (
    *("status", "device", "reason", "checked_inputs", *TIMES, *SPEEDUPS, "baseline_case", "binary_digest"),
)
"""Columns of which a comparison has those of both runs."""
COLUMNS = list(dict.fromkeys(("case", "variant", *PROBLEM_COLUMNS, "params", *COMPARED)))


class Outcome(StrEnum):
    """What has become of a case in the new run, against the old one; what is worse comes first."""

    LOST = "no longer right"
    SLOWER = Verdict.SLOWER.value
    FAILING = "failing now"
    """It fails, and was neither right nor failing before, but unsupported, say."""
    FAILED = "failed in both runs"
    SLOWER_WITHIN = Verdict.SLOWER_WITHIN.value
    FASTER = Verdict.FASTER.value
    SAME = Verdict.SAME.value
    AMBIGUOUS = Verdict.AMBIGUOUS.value
    RIGHT = "right now"
    NOT_TIMED = "right in both runs, not compared by time"
    NEVER_CHECKED = "checked in neither run"


@dataclass(frozen=True)
class Comparison:
    """What two runs say of the cases that both have, and of those that one has."""

    old: RunFolder
    new: RunFolder
    margins: Margins
    cases: pd.DataFrame
    """A row for each case of both: `case`, `outcome`, `how`, `verdict`, `ratio`, `low`, `high`, the problem,
    and the columns of both runs with `_old` and `_new` behind their names; where times do not compare,
    `verdict` is missing, and where nothing bounds a ratio, `low` and `high` are."""
    outputs: pd.DataFrame
    """A row for each output that both runs keep, see `harness.bench.comparing.outputs`."""
    only_old: pd.DataFrame
    only_new: pd.DataFrame
    notes: tuple[str, ...]
    """What a person should know of how the runs compare, a line each."""
    made_by: tuple[str, ...] = ()
    """The command line that makes such runs in turn; none where they were there before."""
    longer: str = ""
    """By how much longer than they were it measures, as words behind others."""
    fails_on_ambiguous: bool = False

    def having(self, outcome: Outcome) -> pd.DataFrame:
        """Return the cases with an outcome, those whose times differ most first."""
        cases = self.cases[self.cases["outcome"] == outcome.value]
        differences = np.abs(np.log(cases["ratio"].to_numpy(dtype=np.float64)))
        return cases.iloc[np.argsort(-differences, kind="stable")]

    @property
    def is_worse(self) -> bool:
        """Whether a case is no longer right, or slower by more than the threshold."""
        return bool(self.cases["outcome"].isin([Outcome.LOST.value, Outcome.SLOWER.value]).any())

    @property
    def is_undecided(self) -> bool:
        """Whether a case is ambiguous."""
        return bool((self.cases["outcome"] == Outcome.AMBIGUOUS.value).any())

    @property
    def fails(self) -> bool:
        """Whether a gate that asked for this comparison is to stay closed."""
        return self.is_worse or (self.fails_on_ambiguous and self.is_undecided)


def compare_runs(old: RunFolder, new: RunFolder, margins: Margins = USUAL) -> Comparison:
    """Compare two runs; raises `InputError` where they have no case in common, or other machines."""
    tables = [run.table() for run in (old, new)]
    cases, notes = compare_tables(tables[0], tables[1], margins, times_in_turn(old, new))
    if cases.empty:
        raise InputError(
            f"{new.place}: it has no case of {old.place}; expected two runs of the same cases (problem, "
            "variant, target and parameters)"
        )
    _require_one_machine(cases, old, new)
    notes += notes_on_runs(cases, old, new)
    only_old, only_new = (table[~table["case"].isin(cases["case"])] for table in tables)
    outputs = compare_outputs(old, new, cases)
    return Comparison(old, new, margins, cases, outputs, only_old, only_new, tuple(notes))


def compare_tables(
    old: pd.DataFrame, new: pd.DataFrame, margins: Margins = USUAL, turns: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Return `Comparison.cases` of two tables of results, and what is to be known of how times compare."""
    latest_old, latest_new = (
        table.reindex(columns=COLUMNS).drop_duplicates("case", keep="last") for table in (old, new)
    )
    cases = latest_old[["case", *COMPARED]].merge(latest_new, on="case", suffixes=("_old", "_new"))
    if turns is None:
        turns = pd.DataFrame(columns=["case", *TURN_COLUMNS])
    cases = cases.merge(turns, on="case", how="left")
    cases["was_checked"] = cases["status_old"].isin(CHECKED)
    cases["is_checked"] = cases["status_new"].isin(CHECKED)
    notes = _add_times(cases, margins)
    add_outcomes(cases)
    return cases, notes


def add_outcomes(cases: pd.DataFrame) -> None:
    """Add the outcome of each case to the table, in place."""
    was_checked, is_checked = cases["was_checked"], cases["is_checked"]
    did_fail, fails = cases["status_old"].isin(FAILED), cases["status_new"].isin(FAILED)
    places = {
        Outcome.LOST: was_checked & ~is_checked,
        Outcome.RIGHT: ~was_checked & is_checked,
        Outcome.FAILED: did_fail & fails,
        Outcome.FAILING: fails,
        Outcome.NEVER_CHECKED: ~is_checked,
        Outcome.NOT_TIMED: cases["verdict"].isna(),
    }
    outcomes = [np.full(len(cases), outcome.value, dtype=object) for outcome in places]
    cases["outcome"] = np.select(list(places.values()), outcomes, cases["verdict"].to_numpy(dtype=object))


def set_verdicts(
    cases: pd.DataFrame,
    places: np.ndarray,
    ratios: np.ndarray,
    errors: np.ndarray,
    degrees: np.ndarray,
    margins: Margins,
) -> None:
    """Note ratios of new times over old ones in some rows, in place, with their intervals and verdicts.

    `errors` are the standard errors of their logarithms, ∞ where nothing bounds a ratio.
    """
    reach = np.exp(reach_of(np.where(np.isfinite(errors), errors, np.nan), degrees))
    cases.loc[places, ["ratio", "low", "high"]] = np.stack([ratios, ratios / reach, ratios * reach], axis=1)
    cases.loc[places, "verdict"] = verdicts(ratios, errors, margins, degrees)


def _require_one_machine(cases: pd.DataFrame, old: RunFolder, new: RunFolder) -> None:
    """Raise `InputError` where all that ran in both runs, or was timed in both, is of different devices."""
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


def _add_times(cases: pd.DataFrame, margins: Margins) -> list[str]:
    """Add how times compare to the table, in place; returns what is to be known of that."""
    is_same_device = (cases["device_old"] == cases["device_new"]).to_numpy()
    timed = (cases["time_s_old"].notna() & cases["time_s_new"].notna()).to_numpy() & is_same_device
    right = (cases["was_checked"] & cases["is_checked"]).to_numpy(dtype=bool)
    identical = right & is_same_device & identical_code(cases)
    in_turn = timed & ~identical & cases["turn_ratio"].notna().to_numpy()
    paired = timed & ~identical & ~in_turn & _paired(cases, identical & timed)
    apart = timed & ~identical & ~in_turn & ~paired
    times, time_errors = _ratios(cases, TIMES, "old", "new")
    times, time_errors, degrees, how, notes = _corrected(cases, times, time_errors, identical & timed, apart)
    speedups, speedup_errors = _ratios(cases, SPEEDUPS, "new", "old")
    turns, turn_low, turn_high = (cases[name].to_numpy(dtype=np.float64) for name in TURN_COLUMNS)
    kinds = [in_turn, paired, apart]
    cases["how"] = np.select([identical, *kinds], ["identical", IN_TURN, "paired", how], "")
    cases["verdict"] = pd.Series(Verdict.SAME.value, index=cases.index).where(identical)
    for name in ("ratio", "low", "high"):
        cases[name] = np.where(identical, 1.0, np.nan)
    judged = in_turn | paired | apart
    errors = [standard_error(turn_low, turn_high), speedup_errors, time_errors]
    set_verdicts(
        cases,
        judged,
        np.select(kinds, [turns, speedups, times], np.nan)[judged],
        np.select(kinds, errors, np.nan)[judged],
        np.where(apart, degrees, np.inf)[judged],
        margins,
    )
    return notes


def _ratios(
    cases: pd.DataFrame, names: Sequence[str], below: str, above: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return a quantity of one run over that of the other, and the standard errors of the logarithms."""
    first, first_low, first_high, second, second_low, second_high = (
        cases[f"{name}_{run}"].to_numpy(dtype=np.float64, na_value=np.nan)
        for run in (below, above)
        for name in names
    )
    errors = np.hypot(standard_error(first_low, first_high), standard_error(second_low, second_high))
    return second / first, errors


def _corrected(
    cases: pd.DataFrame, ratios: np.ndarray, errors: np.ndarray, identical: np.ndarray, apart: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return ratios of times without what the runs differ by for all cases of a kind.

    After the ratios come their errors with their degrees of freedom, for each case whether it is *controlled*
    or *apart*, and notes on kinds with cases that are judged by their times.
    """
    values, total_errors, degrees = ratios.copy(), np.hypot(errors, RUN_TO_RUN), np.full(len(ratios), np.inf)
    how = np.full(len(values), "apart", dtype=object)
    notes, without = [], []
    kinds = numbered(cases, KIND)
    for kind in np.unique(kinds[apart]):
        of_kind = kinds == kind
        controls = np.log(ratios[of_kind & identical])
        name = _kind_name(cases.iloc[int(np.argmax(of_kind))])
        if len(controls) < LEAST_CONTROLS:
            without.append(name)
            continue
        drift = float(np.median(controls))
        scatter = float(np.sqrt(np.sum((controls - drift) ** 2) / (len(controls) - 1)))
        values[of_kind] /= np.exp(drift)
        total_errors[of_kind], degrees[of_kind] = _controlled(errors[of_kind], scatter, len(controls))
        how[of_kind] = "controlled"
        notes.append(
            f"{len(controls)} cases of identical code took {np.exp(drift):.3f} of their time in the new run, "
            f"give or take {100 * scatter:.1f} % ({name}): that is taken off others of this "
            "device, target and number of threads, and added to their errors"
        )
    if without:
        notes.append(
            f"nothing says how the machine was in both runs ({'; '.join(without)}), no common baseline and "
            "few other cases of identical code of the same device, target and number of threads: "
            f"their times are not corrected, {100 * RUN_TO_RUN:.0f} % are added to errors"
        )
    return values, total_errors, degrees, how, notes


def _controlled(own: np.ndarray, scatter: float, controls: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of ratios that a median of controls is taken off, and their degrees of freedom.

    A case differs from what the runs differ by as much as a control does.  The median of n controls errs,
    too, by √(π/2n) of that.  What so few controls scatter by is an estimate with n − 1 degrees of freedom.
    """
    between_runs = np.full(len(own), scatter * math.sqrt(1 + math.pi / (2 * controls)))
    return np.hypot(own, between_runs), joint_degrees(own, between_runs, controls - 1)


def _kind_name(case: "pd.Series[str]") -> str:
    device, target, threads = (case[name] for name in KIND)
    return ", ".join(
        [str(target), *([] if is_missing(threads) else [f"threads={int(threads)}"]), str(device)]
    )


def identical_code(cases: pd.DataFrame) -> np.ndarray:
    """Return which cases have the same machine code in both runs."""
    digests = cases["binary_digest_old"], cases["binary_digest_new"]
    same = digests[0].notna() & digests[1].notna() & (digests[0] == digests[1])
    return same.to_numpy(dtype=bool)


def _paired(cases: pd.DataFrame, identical: np.ndarray) -> np.ndarray:
    """Return which cases were timed in turn with one baseline in both runs, whose code is the same."""
    baseline = cases["baseline_case_old"]
    shared = baseline.notna() & (baseline == cases["baseline_case_new"])
    bounded = cases[["speedup_low_old", "speedup_low_new"]].notna().all(axis=1)
    has_same_code = baseline.isin(cases["case"][identical])
    return (shared & bounded & has_same_code).to_numpy(dtype=bool)
