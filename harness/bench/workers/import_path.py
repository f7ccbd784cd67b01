"""What a worker imports is what this process imports: from the folders of `sys.path`, in the same order.

A script's own folder, a notebook's and what a program adds to `sys.path` are in no environment variable.  A
worker without them would build and check another copy of a plugin than the one that this process calls.

Python's own modules come first in a worker, and it takes the folders only when its own modules are loaded: a
file that is named like one of these, such as `types.py` beside a notebook, came too late to hide it in this
process.  This package is the one that this process has, wherever that was found and whatever `sys.path` is by
now.
"""

import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

import harness

IMPORT_PATH = "HARNESS_IMPORT_PATH"
"""Variable with the folders that a worker imports from, as a list in JSON."""


def import_environment(sources: Sequence[Path] = ()) -> dict[str, str]:
    """Return the environment variables that give a worker this process's import path and this package.

    Folders are absolute, because a worker works in another one.  `PYTHONPATH` stays, where this process has
    not been told to ignore it.  What lies in `sources`, of another revision, comes before all that, be it
    this package.
    """
    asked = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    folders = _absolute(filter(None, asked.split(os.pathsep)))
    first = [str(folder) for folder in sources]
    package = str(Path(harness.__file__).parents[1])
    return {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*first, package, *folders])),
        IMPORT_PATH: json.dumps(list(dict.fromkeys([*first, *_absolute(sys.path)]))),
    }


def take_import_path() -> None:
    """Import from where the process does that has started this one, after Python's own modules."""
    path = json.loads(os.environ.get(IMPORT_PATH, "[]"))
    own = [folder for folder in sys.path if _is_of_python(folder)]
    inherited = [folder for folder in path if not _is_of_python(folder)]
    sys.path[:] = [*own, *inherited, *(folder for folder in sys.path if folder not in {*own, *inherited})]


def _absolute(folders: Iterable[str]) -> list[str]:
    """Return those that are there.

    What is relative, as an empty name is that stands for the current folder, was to be found from where this
    package was imported, and is now from where this process is; either folder may be deleted.
    """
    places = [place for place in (harness.IMPORTED_IN, _current_folder()) if place is not None]
    candidates = []
    for word in folders:
        if isinstance(word, str):
            candidates += [word] if os.path.isabs(word) else [os.path.join(place, word) for place in places]
    return [os.path.normpath(folder) for folder in candidates if os.path.exists(folder)]


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _is_of_python(folder: str) -> bool:
    standard = Path(sysconfig.get_path("stdlib"))
    return Path(folder) in (
        standard,
        Path(sysconfig.get_path("platstdlib")),
        standard / "lib-dynload",
        standard.with_name(f"python{sys.version_info.major}{sys.version_info.minor}.zip"),
    )
