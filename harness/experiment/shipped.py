"""The experiments that lie in `experiments/`: found by their bare name."""

from pathlib import Path

from harness.errors import InputError
from harness.storage.reading import exists, read_text
from harness.storage.toml_text import UnreadableTomlError, parse_toml
from harness.validation import suggestion

EXPERIMENTS_FOLDER = Path("experiments")
NO_EXPERIMENTS = f"there is no folder {EXPERIMENTS_FOLDER}/ with experiments here"


def find_experiment(given: str) -> Path:
    """Return the file of an experiment given by path or by bare name, `seq_sweep`.

    Raises `InputError` for a bare name that names no file in `experiments/`.
    """
    path = Path(given)
    if "\0" in given:
        raise InputError(f"{given!r}: holds a byte 0; expected the path of an experiment in TOML")
    if path.suffix or len(path.parts) != 1 or exists(path):
        return path
    named = EXPERIMENTS_FOLDER / f"{given}.toml"
    if not exists(named):
        raise InputError(f"{named}: no such file; {_known_experiments(given)}")
    return named


def _known_experiments(given: str) -> str:
    """Return what to say instead of a bare name that is no experiment's."""
    beside = Path(f"{given}.toml")
    if beside.is_file():
        return f"did you mean the file {beside}?"
    known = [path.stem for path in experiment_files()]
    if not known:
        return f"{NO_EXPERIMENTS}; expected the path of an experiment in TOML"
    hint = suggestion(given, known)
    return f"expected an experiment in TOML, one of {', '.join(known)}, or a path{hint}"


def experiment_files() -> list[Path]:
    """Return the files in `experiments/`."""
    return sorted(EXPERIMENTS_FOLDER.glob("*.toml"))


def question(path: Path) -> str:
    """Return an experiment's question without checking the rest of it."""
    try:
        return str(parse_toml(read_text(path, "utf-8-sig")).get("question", ""))
    except (OSError, ValueError, UnreadableTomlError) as error:
        return f"cannot be read: {error}"
