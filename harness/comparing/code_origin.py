"""Whether what runs as a revision is that revision's code, and not what is installed or being edited."""

import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from harness.comparing.revisions import Revision
from harness.errors import InputError

FINDS = """
import importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    if spec is not None:
        found[name] = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or [])
print(json.dumps(found))
"""
"""Prints where packages would be imported from, by name; nothing of them runs."""
PLACES = "expected its packages at the top of the repository, or in src/"


def require_own_code(revision: Revision, packages: Collection[str]) -> None:
    """Raise `InputError` where a run of a revision would not run its code.

    `packages` are the top-level packages that the experiment needs.  At least one must be found in the
    revision, and none among the working files of the repository, which an editable installation leads to.
    """
    others: list[str] = []
    found = _found(revision, packages)
    for name, places in found.items():
        if not any(_is_below(place, revision.folder) for place in places):
            others += [f"{name} ({place})" for place in places[:1]]
            if any(_is_edited(place, revision.repository) for place in places):
                told = f"{revision.name} would run {others[-1]}, which is among the working files"
                raise InputError(f"--revisions: {told}; {PLACES}")
    if len(others) == len(found):
        told = f"{revision.name} has no code of what runs: {', '.join(others) or 'found nothing'}"
        raise InputError(f"--revisions: {told}; {PLACES}")


def _found(revision: Revision, packages: Collection[str]) -> Mapping[str, list[str]]:
    """Return where a run of a revision would import packages from, by name."""
    done = subprocess.run(
        [sys.executable, "-c", FINDS, *sorted(packages)],
        env=revision.environment(),
        cwd=revision.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or ["no message"]
        raise InputError(f"--revisions: {revision.name} cannot import anything: {words[-1]}")
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def _is_edited(place: str, repository: Path | None) -> bool:
    """Whether a place is in a repository's folder, but not in a virtual environment that lies there."""
    return repository is not None and _is_below(place, repository) and not _is_below(place, Path(sys.prefix))


def _is_below(place: str, folder: Path) -> bool:
    return Path(place).resolve().is_relative_to(folder.resolve())
