"""Where a figure comes from: runs, rows, figure and settings, as the figure's own file says it.

It names runs and devices, but no user, host or folder above a run's own, as a manifest does.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from harness.reporting.captions import describe_commands, describe_resumes
from harness.reporting.frames import records
from harness.reporting.runs import Runs
from harness.reporting.units import is_number
from harness.results.run_folder import MANIFEST_FILE
from harness.system.validation import FrozenModel

MOST_ROWS = 1000
"""Rows that a figure's file lists; of more it says how many they are."""
TIME_DIGITS = 6


class RunOrigin(FrozenModel):
    """One run that a figure was drawn from."""

    experiment: str
    run: str
    """What the run's folder is called; among runs of equal names, the folders above it, too."""
    label: str | None = None
    """What a person called it with `--label`."""
    manifest_digest: str
    """SHA-256 of its `manifest.json`."""
    command: str
    """The command that made it; of a run that was gone on with, all of them."""
    started: str
    harness_version: str
    code_digest: str
    git_commit: str | None = None
    git_dirty: bool | None = None
    resumed_with: tuple[str, ...] = ()
    """Other code that it was gone on with, `harness 0.1.0, commit cd39bee, 2026-11-21`."""
    device: str
    gpus: tuple[str, ...] = ()


class RowOrigin(FrozenModel):
    """One row that a figure shows."""

    case: str
    series: str
    target: str
    status: str
    time_s: float | None = None


class Origin(FrozenModel):
    """All that a figure's file says of where it comes from."""

    format: Literal[1] = 1
    figure: str
    settings: dict[str, Any] = Field(default={})
    """As an experiment, or `--set`, gives them."""
    unset: tuple[str, ...] = ()
    """Settings of the runs' own experiments that the figure was drawn without."""
    published_only: str | None = None
    """The experiment whose problems it shows published points of, without any run."""
    runs: tuple[RunOrigin, ...]
    row_count: int
    rows: tuple[RowOrigin, ...]
    """Empty where there are more than `MOST_ROWS`."""


def origin_of(runs: Runs, figure: str, settings: Mapping[str, Any], rows: pd.DataFrame) -> Origin:
    """Describe a figure of runs that shows these rows of a prepared frame."""
    return Origin(
        figure=figure,
        settings=dict(settings),
        unset=tuple(_unset(runs.figures.get(figure, {}), settings)),
        published_only=None if runs.manifests else str(rows["experiment"].iloc[0]),
        runs=tuple(_run_origins(runs)),
        row_count=len(rows),
        rows=tuple(_row_origins(rows)) if len(rows) <= MOST_ROWS else (),
    )


def key_of_entry(name: str, entry: str) -> str:
    """Return how `--set` names an entry of a table."""
    return f"{name}.{entry}" if re.fullmatch(r"[\w-]+", entry) else f'{name}."{entry}"'


def _unset(kept: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of an experiment that a figure is drawn without, and such entries of tables."""
    for name, value in kept.items():
        if name not in settings:
            yield name
        elif isinstance(value, dict) and isinstance(settings[name], dict):
            yield from (key_of_entry(name, entry) for entry in value if entry not in settings[name])


def _run_origins(runs: Runs) -> list[RunOrigin]:
    return [
        RunOrigin(
            run=name,
            label=runs.labels.get((manifest.experiment, name)),
            manifest_digest=manifest_digest(folder),
            command=describe_commands(manifest),
            resumed_with=tuple(describe_resumes(manifest)),
            gpus=tuple(gpu.name for gpu in manifest.gpus),
            **manifest.model_dump(include=set(RunOrigin.model_fields) - {"command", "gpus"}),
        )
        for folder, name, manifest in zip(runs.folders, runs.names, runs.manifests, strict=True)
    ]


def manifest_digest(folder: Path) -> str:
    """Return the SHA-256 of a run's manifest as it is now."""
    return hashlib.sha256((folder / MANIFEST_FILE).read_bytes()).hexdigest()


def _row_origins(rows: pd.DataFrame) -> list[RowOrigin]:
    columns = {"case": "case", "label": "series", "target": "target", "status": "status"}
    texts = rows[list(columns)].astype(str).rename(columns=columns)
    times = [float(f"{time:.{TIME_DIGITS}g}") if is_number(time) else None for time in rows["time_s"]]
    return [RowOrigin(**row, time_s=time) for row, time in zip(records(texts), times, strict=True)]
