"""Whether two runs checked their cases alike: `[check]` says with which inputs, and what *passed* means."""

import json
from typing import TYPE_CHECKING, Any

from harness.errors import InputError, cut
from harness.experiment.settings import CheckSettings
from harness.reporting.runs import experiment_of
from harness.validation import shown

if TYPE_CHECKING:
    from harness.results.run_folder import RunFolder

LONGEST_SETTING = 200
"""Characters of a setting that are shown: the names of all distributions, and more."""
NOT_OF_INPUTS = ("supported",)
"""Settings of `[check]` that change neither inputs nor what *passed* means, but the exit status alone."""


def other_checks(old: "RunFolder", new: "RunFolder") -> list[str]:
    """Return a line that says by which settings the runs checked differently, or that it is not known."""
    try:
        before, now = _settings(old), _settings(new)
    except InputError as error:
        return [f"whether both runs checked with the same settings is not known: {error}"]
    changes = [
        f"{name} {_shown(before.get(name))} → {_shown(now.get(name))}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    if not changes:
        return []
    return [f"[check] differs, and with it the inputs and what passed means: {'; '.join(changes)}"]


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
