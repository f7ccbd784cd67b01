"""What differs between two runs besides their rows, and a reader should know: checks, files, packages.

A run that was resumed has several parts, each with a commit and packages of its own.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.artifact.code_digests import OWN_PACKAGE
from harness.results.manifest import Manifest, Part
from harness.system.errors import cut
from harness.system.plurals import counted

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.run_folder import RunFolder

SHORT_COMMIT = 7
"""Digits of a commit that are shown."""
LONGEST_SETTING = 200
"""Characters of inputs that are shown: the names of all distributions, and more."""
MOST_CHANGES = 3
"""Pairs of inputs that are told each, those of most cases first."""


def notes_on_runs(cases: "pd.DataFrame", old: "RunFolder", new: "RunFolder") -> list[str]:
    """Return what else differs between two runs, a line each: checks, conventions, packages."""
    is_same = old.path.resolve() == new.path.resolve()
    same = [f"old and new are the same run, {old.place}"] if is_same else []
    notes = [*same]
    changes = _other_inputs(cases)
    if changes:
        notes.append(f"[check] differs, and with it the inputs and what passed means: {'; '.join(changes)}")
    notes += _modified_files("old", old.manifest) + _modified_files("new", new.manifest)
    shares = [run.manifest.machine.share or "all processors" for run in (old, new)]
    if shares[0] != shares[1]:
        notes.append(f"the old run could use {shares[0]}, the new one {shares[1]}: times may differ by that")
    conventions = int((cases["flop_convention_old"] != cases["flop_convention_new"]).sum())
    if conventions:
        cases_of_both = counted(conventions, "case")
        notes.append(f"FLOPs of {cases_of_both} are counted by another convention: compare times, not rates")
    changed = _changed_packages([*_parts(old.manifest), *_parts(new.manifest)])
    if changed:
        notes.append(f"packages of other versions: {', '.join(changed)}")
    return notes


def _other_inputs(cases: "pd.DataFrame") -> list[str]:
    """Return the inputs that differ of cases which both runs checked, and in how many cases."""
    both = cases[[f"checked_inputs_{run}" for run in ("old", "new")]].dropna()
    differing = both[both["checked_inputs_old"] != both["checked_inputs_new"]]
    counts = Counter(zip(differing["checked_inputs_old"], differing["checked_inputs_new"], strict=True))
    changes = [
        f"{cut(before, LONGEST_SETTING)} → {cut(now, LONGEST_SETTING)} in {counted(count, 'case')}"
        for (before, now), count in counts.most_common(MOST_CHANGES)
    ]
    others = sum(count for _, count in counts.most_common()[MOST_CHANGES:])
    return [*changes, *([f"otherwise in {counted(others, 'case')}"] if others else [])]


def changed_code(runs: Sequence["RunFolder"]) -> list[str]:
    """Return the names of code that differs between runs, or parts of them, that are taken for one's."""
    parts = [part for run in runs for part in _parts(run.manifest)]
    codes = [{**part.plugin_code, OWN_PACKAGE: part.code_digest} for part in parts]
    names = {name for code in codes for name in code}
    return sorted(name for name in names if len({code[name] for code in codes if name in code}) > 1)


def _parts(manifest: Manifest) -> list[Manifest | Part]:
    """Return all that says with what a run was made: its beginning, and what it was resumed with."""
    return [manifest, *manifest.parts]


def _modified_files(name: str, manifest: Manifest) -> list[str]:
    """Return a line that names the commits of a run from which files differed; none without any."""
    parts = _parts(manifest)
    commits = [part.git_commit[:SHORT_COMMIT] for part in parts if part.git_commit and part.git_dirty]
    distinct_commits = list(dict.fromkeys(commits))
    if not distinct_commits:
        return []
    return [
        f"files of the {name} run differed from its commit{'s' * (len(distinct_commits) > 1)} "
        f"{', '.join(distinct_commits)}"
    ]


def _changed_packages(parts: list[Manifest | Part]) -> list[str]:
    """Return the packages of which parts of the runs had other versions, or of which only some had any."""
    names = {name for part in parts for name in part.packages}
    return sorted(name for name in names if len({part.packages.get(name) for part in parts}) > 1)
