"""Whether two runs checked their cases alike: with the same inputs, and so with one meaning of *passed*."""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from harness.errors import InputError, cut
from harness.experiment.settings import CheckSettings
from harness.plurals import counted
from harness.reporting.runs import experiment_of
from harness.validation import shown

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.run_folder import RunFolder

LONGEST_SETTING = 200
"""Characters of a setting that are shown: the names of all distributions, and more."""
MOST_CHANGES = 3
"""Pairs of inputs that are told each, those of most cases first."""
NOT_OF_INPUTS = ("supported", "keep_outputs")
"""Settings of `[check]` that change neither inputs nor what *passed* means."""


def other_checks(cases: "pd.DataFrame", old: "RunFolder", new: "RunFolder") -> list[str]:
    """Return a line that says how the runs checked differently, or that it is not known.

    Each row says what its case was checked with: a run that was resumed with another `[check]` has that of
    its beginning in the manifest.  The manifests count where older versions have made the rows.
    """
    changes = _other_inputs(cases)
    try:
        if not changes and not _is_told_by_rows(cases):
            changes = _other_settings(old, new)
    except InputError as error:
        return [f"whether both runs checked with the same settings is not known: {error}"]
    if not changes:
        return []
    return [f"[check] differs, and with it the inputs and what passed means: {'; '.join(changes)}"]


def _other_inputs(cases: "pd.DataFrame") -> list[str]:
    """Return the inputs that differ of cases which both runs checked, and in how many cases."""
    both = cases[[f"checked_inputs_{run}" for run in ("old", "new")]].dropna()
    differing = both[both["checked_inputs_old"] != both["checked_inputs_new"]]
    counts = Counter(zip(differing["checked_inputs_old"], differing["checked_inputs_new"], strict=True))
    told = [
        f"{cut(before, LONGEST_SETTING)} → {cut(now, LONGEST_SETTING)} in {counted(count, 'case')}"
        for (before, now), count in counts.most_common(MOST_CHANGES)
    ]
    others = sum(count for _, count in counts.most_common()[MOST_CHANGES:])
    return [*told, *([f"otherwise in {counted(others, 'case')}"] if others else [])]


def _is_told_by_rows(cases: "pd.DataFrame") -> bool:
    """Whether rows of both runs say what they were checked with, every one that was right included."""
    told = {run: cases[f"checked_inputs_{run}"].notna() for run in ("old", "new")}
    is_older = (cases["was_checked"] & ~told["old"]) | (cases["is_checked"] & ~told["new"])
    return bool((told["old"] & told["new"]).any() and not is_older.any())


def _other_settings(old: "RunFolder", new: "RunFolder") -> list[str]:
    """Return the settings of `[check]` that differ between the experiments of both runs."""
    before, now = _settings(old), _settings(new)
    return [
        f"{name} {_shown(before.get(name))} → {_shown(now.get(name))}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]


def _settings(run: "RunFolder") -> dict[str, Any]:
    """Return the `[check]` of a run, what it does not set at its default."""
    if not run.manifest.source:
        raise InputError(f"{run.path}: its manifest holds no experiment")
    table = experiment_of(run).get("check", {})
    if not isinstance(table, dict):
        place = f"{run.path}: the experiment in its manifest: check"
        raise InputError(f"{place}: found {shown(table)}, expected a table")
    settings = CheckSettings().model_dump(mode="json") | table
    return {name: value for name, value in settings.items() if name not in NOT_OF_INPUTS}


def _shown(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False, default=str), LONGEST_SETTING)
