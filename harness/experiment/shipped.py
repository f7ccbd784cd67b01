"""Experiments by their bare name: those that ship with this package, and those in `experiments/` here.

`harness/experiments` is a link to the checkout's folder `experiments/`; a wheel has the files themselves.
"""

import tomllib
from pathlib import Path

import harness
from harness.system.errors import InputError
from harness.system.storage.reading import exists
from harness.system.validation import suggestion

EXPERIMENTS_FOLDER = Path("experiments")
SHIPPED = Path(harness.__file__).with_name("experiments")


def find_experiment(word: str) -> Path:
    """Return the file of an experiment, named by its path or its bare name; `InputError` for no such name."""
    path = Path(word)
    if "\0" in word:
        raise InputError(f"{word!r}: holds a byte 0; expected the path of an experiment in TOML")
    if path.suffix or len(path.parts) != 1 or exists(path):
        return path
    for folder in (EXPERIMENTS_FOLDER, SHIPPED):
        if exists(folder / f"{word}.toml"):
            return folder / f"{word}.toml"
    raise InputError(f"{word}: no such experiment; {_expected_instead_of(word)}")


def word_for(path: Path) -> str:
    """Return what names an experiment's file on a command line: for one that ships, its bare name."""
    return path.stem if path.parent == SHIPPED else str(path)


def _expected_instead_of(word: str) -> str:
    """Return what to say instead of a bare name that is no experiment's."""
    beside = Path(f"{word}.toml")
    if beside.is_file():
        return f"did you mean the file {beside}?"
    names = [path.stem for path in experiment_files()]
    return f"expected an experiment in TOML, one of {', '.join(names)}, or a path{suggestion(word, names)}"


def experiment_files() -> list[Path]:
    """Return the experiments that have a bare name, by that; those in `experiments/` hide those that ship."""
    files = {path.stem: path for folder in (SHIPPED, EXPERIMENTS_FOLDER) for path in folder.glob("*.toml")}
    return [files[name] for name in sorted(files)]


def question(path: Path) -> str:
    """Return an experiment's question without checking the rest of it."""
    try:
        return str(tomllib.loads(path.read_text("utf-8-sig")).get("question", ""))
    except (OSError, ValueError) as error:
        return f"cannot be read: {error}"
