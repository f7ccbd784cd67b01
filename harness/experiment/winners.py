"""Winners: the parameters that searches on this machine have found, by class of problems.

They lie in the cache's folder, in `winners.parquet`, one row each; a later search of the same class replaces
its row.  Runs take them only where they are asked to, `params = "tuned"`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness import plugins
from harness.experiment.searched import ParamsSource, owners, searched_values
from harness.problem.attention_problem import LISTS_OF_LENGTHS, SIZES, AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.fields import problem_fields
from harness.system.errors import InputError, StorageError, one_line
from harness.system.storage.cache_folder import ADVICE, cache_root
from harness.system.storage.lock import FileLock
from harness.system.storage.replacing import replaced
from harness.system.validation import FrozenModel

WINNERS_FILE = "winners.parquet"
LOCK_FILE = ".winners.lock"
SETTINGS_COLUMNS = ("fixed", "params", "target_options")
"""Columns that hold settings as JSON: their names and types differ from row to row."""

Objective = Literal["time", "model"]
TOLD_FIRST = frozenset((*SIZES, "dtype", "scale"))
"""Fields that begin the name of a class, or do not count."""


class Winner(FrozenModel):
    """What a search has found for a class of problems, on one device."""

    device: str
    variant: str
    target: str
    fixed: dict[str, ParameterValue]
    """Settings that are no part of the search, such as `threads`: the same in every case of the class."""
    problem_class: str
    params: dict[str, ParameterValue]
    """Parameters of the variant that the search has chosen; none where the default has won."""
    target_options: dict[str, ParameterValue]
    """Options of the target likewise."""
    objective: Objective
    speedup: float
    """Over the default on the problem that was searched: of paired times, or of the model."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    """Its 95 % interval; a model has none."""
    trials: int
    problem: str
    """The problem that was searched."""
    run: str
    found: str
    """UTC, ISO 8601."""
    code_digest: str
    """Of the harness that searched."""

    @property
    def source(self) -> ParamsSource:
        """How rows name where their parameters come from."""
        if not (self.params or self.target_options):
            return "default"
        return "tuned" if self.objective == "time" else "tuned-by-model"

    def applied(self, case: Case) -> Case:
        """Return a case that leaves its parameters open with those of the winner."""
        return case.model_copy(
            update={
                "params": {**case.params, **self.params},
                "target_options": {**case.target_options, **self.target_options},
            }
        )

    @property
    def place(self) -> "Place":
        """What a later search of the same replaces."""
        fixed = json.dumps(self.fixed, sort_keys=True)
        return Place(self.device, self.variant, self.target, fixed, self.problem_class)


@dataclass(frozen=True)
class Place:
    """What a winner is for."""

    device: str
    variant: str
    target: str
    fixed: str
    problem_class: str

    @classmethod
    def of(cls, case: Case) -> "Place":
        """Return the place of a case on this machine."""
        with plugins.asked("target", plugins.name_of(case.target), "which device its code is for (device)"):
            device = str(plugins.target(case.target).device_of(case))
        fixed = json.dumps(fixed_settings(case), sort_keys=True)
        return cls(device, case.variant, case.target, fixed, class_of(case.problem))


def fixed_settings(case: Case) -> dict[str, ParameterValue]:
    """Return the settings of a case that no search chooses."""
    return {
        name: value
        for kind, owner, settings in owners(case)
        for name, value in settings.items()
        if name not in searched_values(kind, owner)
    }


def class_of(problem: AttentionProblem) -> str:
    """Return a problem's class in words, `f32 d64 batch·heads≤8 seq_q≤1024 seq_kv≤1024 causal`.

    Lengths, and `batch` · `heads`, count up to the next power of two, as a window does; widths and query
    heads for each of K and V as they are.  The scale, and what lists of lengths hold, does not count.
    """
    widths = {problem.head_dim: None, problem.head_dim_v: None}
    words = [
        problem.dtype,
        f"d{'/'.join(map(str, widths))}",
        f"batch·heads≤{_bucket(problem.batch * problem.heads)}",
        *([f"group={problem.group_size}"] if problem.group_size > 1 else []),
        f"seq_q≤{_bucket(problem.seq_q)}",
        f"seq_kv≤{_bucket(problem.seq_kv)}",
    ]
    for name, field in problem_fields().items():
        value = getattr(problem, name)
        if name in TOLD_FIRST or value in (None, False, field.default):
            continue
        if name == "window":
            words.append(
                f"window≤{':'.join('none' if side is None else f'{_bucket(side)}' for side in value)}"
            )
        elif value is True or name in (*LISTS_OF_LENGTHS, "softcap"):
            words.append(name)
        else:
            words.append(f"{name}={value}")
    return " ".join(words)


def _bucket(size: int) -> int:
    """Return the next power of two."""
    return 1 << max(0, size - 1).bit_length() if size > 0 else 0


def winners_file() -> Path:
    """Return where the winners of this machine lie."""
    return cache_root() / WINNERS_FILE


def kept_winners() -> dict[Place, Winner]:
    """Return all winners by what they are for; raises `InputError` for a file that cannot be read."""
    import pandas

    file = winners_file()
    try:
        rows: list[dict[str, Any]] = pandas.read_parquet(file).to_dict("records")  # type: ignore[assignment]
    except FileNotFoundError:
        return {}
    except Exception as error:  # pyarrow's own errors are of many kinds
        raise InputError(f"{file}: not a table of winners: {one_line(error)}; remove it") from error
    winners = [Winner.model_validate(_from_columns(row)) for row in rows]
    return {winner.place: winner for winner in winners}


def keep_winners(winners: Iterable[Winner]) -> None:
    """Add winners to those of this machine, each in the place of an earlier one; raises `StorageError`."""
    import pandas

    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock.take(root / LOCK_FILE, wait=True):  # type: ignore[union-attr] # it waits
            kept = kept_winners() | {winner.place: winner for winner in winners}
            rows = [_as_columns(winner) for winner in kept.values()]
            with replaced(winners_file()) as file:
                pandas.DataFrame(rows).to_parquet(file, index=False)
    except OSError as error:
        raise StorageError(f"{root}: winners cannot be kept: {error.strerror or error}; {ADVICE}") from error


def _as_columns(winner: Winner) -> dict[str, Any]:
    columns = winner.model_dump()
    return columns | {name: json.dumps(columns[name], sort_keys=True) for name in SETTINGS_COLUMNS}


def _from_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    columns = {name: None if value != value else value for name, value in row.items()}
    return columns | {name: json.loads(row[name]) for name in SETTINGS_COLUMNS}
