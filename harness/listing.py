"""What there is to choose from: the lists behind `harness list`."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness import plugins
from harness.errors import HarnessError, InputError

EXPERIMENTS_FOLDER = Path("experiments")


class Entry(BaseModel):
    """One line of a list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    summary: str


def find_experiment(given: str) -> Path:
    """Return the file of an experiment given by path or by bare name, `seq_sweep`.

    Raises `InputError` for a bare name that names no file in `experiments/`.
    """
    path = Path(given)
    if path.suffix or len(path.parts) != 1 or path.exists():
        return path
    named = EXPERIMENTS_FOLDER / f"{given}.toml"
    if not named.is_file():
        known = ", ".join(entry.name for entry in experiments()) or "none"
        raise InputError(f"{named}: no such file; expected an experiment in TOML, one of {known}, or a path")
    return named


def variants() -> list[Entry]:
    """Return the variants; one that cannot be imported says why."""
    return _plugins("variant")


def targets() -> list[Entry]:
    """Return the targets, with the chips that may follow a colon."""
    entries = []
    for entry in _plugins("target"):
        entries.append(entry)
        try:
            chips = plugins.target(entry.name).chips()
        except HarnessError:
            continue
        entries += [Entry(name=f"{entry.name}:{chip}", summary=text) for chip, text in chips.items()]
    return entries


def figures() -> list[Entry]:
    """Return the figures that a report can draw."""
    return _plugins("figure")


def distributions() -> list[Entry]:
    """Return the input distributions that a case can be checked with."""
    from harness.inputs import DISTRIBUTIONS

    return [Entry(name=name, summary=known.summary) for name, known in DISTRIBUTIONS.items()]


def experiments() -> list[Entry]:
    """Return the experiments in `experiments/` and their questions."""
    return [
        Entry(name=path.stem, summary=_question(path)) for path in sorted(EXPERIMENTS_FOLDER.glob("*.toml"))
    ]


LISTS: dict[str, Callable[[], list[Entry]]] = {
    "variants": variants,
    "targets": targets,
    "experiments": experiments,
    "figures": figures,
    "distributions": distributions,
}


def cases(experiment: str) -> list[Entry]:
    """Return the ids and descriptions of an experiment's cases."""
    from harness.experiment import load_experiment

    loaded = load_experiment(find_experiment(experiment))
    return [Entry(name=case.id, summary=case.describe()) for case in loaded.cases()]


def _plugins(kind: str) -> list[Entry]:
    entries = []
    for name in plugins.names(kind):
        try:
            summary = plugins.load(kind, name).summary
        except HarnessError as error:
            summary = str(error)
        entries.append(Entry(name=name, summary=summary))
    return entries


def _question(path: Path) -> str:
    """Return an experiment's question without checking the rest of it."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8")).get("question", ""))
    except (OSError, ValueError) as error:
        return f"cannot be read: {error}"
