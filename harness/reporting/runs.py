"""The runs that a report is about: their rows, merged and prepared, and what their experiments ask for."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.experiment.profiles import mistakes_in_profiles, unknown_profile, with_profile
from harness.experiment.sharding import parsed_shard
from harness.reporting.beside_the_clock import with_measured_share
from harness.reporting.distinct import numbered
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, RunLabels, prepare, renamed
from harness.results.loading import choice_of, different_runs, open_run
from harness.results.manifest import Manifest
from harness.results.run_folder import RunFolder, tables_of
from harness.results.run_identity import names_of_folders
from harness.system.errors import InputError, cut
from harness.system.plurals import counted
from harness.system.printable import printable


@dataclass(frozen=True)
class Runs:
    """One or several runs, read."""

    folders: tuple[Path, ...]
    names: tuple[str, ...]
    """What each is called among them, see `harness.results.run_identity.names_of_folders`."""
    manifests: tuple[Manifest, ...]
    frame: pd.DataFrame
    """Their rows, see `harness.reporting.frames.prepare`."""
    figures: dict[str, dict[str, Any]]
    """The figures that the experiments name, with their settings; empty when none does."""
    labels: RunLabels = field(default_factory=dict)
    """What the runs are called, where a person says so."""
    variants: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know of the choice of the runs, a line each."""
    unfinished: tuple[str, ...] = ()
    """Which shards are here, and which are not; how many of the planned cases of each run have a row."""
    is_whole: bool = True
    """Whether no shard is missing, and each planned case has a row."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of the rows, a line each."""


def read_runs(folders: Sequence[str | Path], labels: Sequence[str] = ()) -> Runs:
    """Read runs, each given by its folder or by its experiment's, of which the newest run is taken.

    Where several experiments set up one figure, the first one's settings hold.  For `labels` and errors see
    `harness.reporting.report.make_report`.
    """
    if not folders:
        raise InputError("no results folder given; expected at least one")
    opened = [open_run(Path(folder)) for folder in folders]
    runs = different_runs(opened)
    if labels and not len(set(labels)) == len(labels) == len(opened) == len(runs):
        raise InputError(
            f"--label: found {', '.join(map(repr, labels))}, expected a different one for each of the "
            f"{len(opened)} folders, in their order; each run once, of {len(runs)} that differ"
        )
    identities = names_of_folders([run.place for run in runs])
    names: RunLabels = {
        (run.experiment, name): printable(label)
        for run, name, label in zip(runs, identities, labels, strict=False)
    }
    experiments = [experiment_of(run) for run in runs]
    variants = tuple(
        dict.fromkeys(variant for experiment in experiments for variant in experiment.get("variants", []))
    )
    figures: dict[str, dict[str, Any]] = {}
    for experiment in experiments:
        figures = {**figures, **experiment.get("figures", {}), **figures}
    manifests = tuple(run.manifest for run in runs)
    frame = with_measured_share(prepare(tables_of(runs), variants, names), manifests)
    rows = {run.path: frame[frame["run"] == name] for run, name in zip(runs, identities, strict=True)}
    chosen = {
        run.path: Path(folder)
        for folder, run in zip(folders, opened, strict=True)
        if run.place == run.path and run.path.resolve() != Path(folder).resolve()
    }
    unmeasured = [
        line if len(runs) == 1 else f"{name}: {line}"
        for name, manifest in zip(identities, manifests, strict=True)
        for line in manifest.unmeasured_lines
    ]
    shards = _shards(manifests)
    interrupted = [
        line if len(runs) == 1 else f"{name}: {line}"
        for run, name in zip(runs, identities, strict=True)
        for line in _unfinished(run, rows[run.path])
    ]
    return Runs(
        folders=tuple(run.path for run in runs),
        names=tuple(identities),
        manifests=manifests,
        frame=frame,
        figures=figures,
        labels=names,
        variants=variants,
        notes=tuple(
            line
            for run in runs
            if run.path in chosen
            for line in choice_of(chosen[run.path], run, rows[run.path])
        ),
        unfinished=(*shards, *interrupted),
        is_whole=not interrupted and all(shards.values()),
        remarks=(*_equal_code(frame), *unmeasured),
    )


def _shards(manifests: Sequence[Manifest]) -> dict[str, bool]:
    """Return a line for each experiment that was shared out, which of its parts are here, and whether all."""
    here: dict[tuple[str, int], set[int]] = {}
    for manifest in manifests:
        if manifest.shard is not None:
            number, count = parsed_shard(manifest.shard)
            here.setdefault((manifest.experiment, count), set()).add(number)
    lines = {}
    for (experiment, count), numbers in here.items():
        listed, missing = (
            cut(", ".join(map(str, sorted(part))), 200)
            for part in (numbers, {*range(1, count + 1)} - numbers)
        )
        absent = f"missing: {missing}" if missing else "none is missing"
        lines[f"{experiment}: {len(numbers)} of {counted(count, 'shard')}: {listed}; {absent}"] = not missing
    return lines


def _unfinished(run: RunFolder, rows: pd.DataFrame) -> list[str]:
    """Return a line that says how many of how many cases have run, where some have not."""
    planned = set(run.manifest.planned or ())
    ended = planned.intersection(rows["case"])
    if ended == planned:
        return []
    return [f"{len(ended)} of {counted(len(planned), 'case')} ran: the run was interrupted, or still goes on"]


def with_names(runs: Runs, figures: Mapping[str, Mapping[str, Any]]) -> Runs:
    """Return runs whose series are called as figures call them."""
    names = names_of(figures)
    return replace(runs, frame=renamed(runs.frame, names)) if names else runs


def names_of(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return what figures call variants and series; of several names the first one counts."""
    names: dict[str, str] = {}
    for settings in figures.values():
        of_figure = settings.get("names")
        names = {**of_figure, **names} if isinstance(of_figure, dict) else names
    return names


def _equal_code(frame: pd.DataFrame) -> list[str]:
    """Return how many rows run the code of another by another name or with other parameters, if some do."""
    rows = frame[frame["binary_digest"].notna()]
    numbers = numbered(rows, [*RUN_COLUMNS, *PROBLEM_COLUMNS, "binary_digest"])
    count = len(numbers) - len(set(numbers.tolist()))
    if count == 0:
        return []
    words = "1 row runs" if count == 1 else f"{count} rows run"
    return [
        f"{words} the code of another row of the same problem, by another name or with parameters that "
        "change nothing there, such as tiles that are cut to its lengths (column chosen). That is no "
        "mistake; their times differ by chance alone."
    ]


def experiment_of(run: RunFolder) -> dict[str, Any]:
    """Return the run's experiment as the manifest keeps it; empty where it was run from Python."""
    try:
        experiment = tomllib.loads(run.manifest.source)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{run.path}: the experiment in its manifest cannot be read: {error}") from error
    profile = run.manifest.profile
    if profile is None or any(mistakes_in_profiles(experiment)) or unknown_profile(profile, experiment):
        return experiment
    return with_profile(experiment, profile)
