"""What differs between two runs besides their rows, and a reader should know: checks, files, packages.

A run that was resumed has several parts, each with a commit and packages of its own.
"""

import pandas as pd

from harness.results.manifest import Manifest, Part
from harness.results.run_folder import RunFolder
from harness.system.plurals import counted

SHORT_COMMIT = 7


def notes_on_runs(cases: pd.DataFrame, old: RunFolder, new: RunFolder) -> list[str]:
    """Return what else differs between two runs, a line each."""
    notes = []
    if old.path.resolve() == new.path.resolve():
        notes.append(f"old and new are the same run, {old.place}")
    checked = cases[["checked_inputs_old", "checked_inputs_new"]].dropna()
    differing = checked[checked["checked_inputs_old"] != checked["checked_inputs_new"]]
    if len(differing):
        change = " → ".join(differing.iloc[0])
        cases_of_both = counted(len(differing), "case")
        notes.append(f"[check] differs in {cases_of_both}, and so does what passed means, such as {change}")
    for name, run in (("old", old), ("new", new)):
        parts = [part for part in _parts(run.manifest) if part.git_commit and part.git_dirty]
        commits = dict.fromkeys(f"{part.git_commit}"[:SHORT_COMMIT] for part in parts)
        if commits:
            notes.append(f"files of the {name} run differed from its commit {', '.join(commits)}")
    shares = [run.manifest.machine.share or "all processors" for run in (old, new)]
    if shares[0] != shares[1]:
        notes.append(f"the old run could use {shares[0]}, the new one {shares[1]}: times may differ by that")
    changed = _changed_packages([*_parts(old.manifest), *_parts(new.manifest)])
    if changed:
        notes.append(f"packages of other versions: {', '.join(changed)}")
    return notes


def _parts(manifest: Manifest) -> list[Manifest | Part]:
    """Return all that says with what a run was made: its beginning, and what it was resumed with."""
    return [manifest, *manifest.parts]


def _changed_packages(parts: list[Manifest | Part]) -> list[str]:
    """Return the packages of which parts of the runs had other versions, or of which only some had any."""
    names = {name for part in parts for name in part.packages}
    return sorted(name for name in names if len({part.packages.get(name) for part in parts}) > 1)
