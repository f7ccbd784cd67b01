"""The runs that a report is about: their rows, merged and prepared, and what their experiments ask for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.experiment.profiles import mistakes_in_profiles, unknown_profile, with_profile
from harness.reporting.distinct import first_rows, numbered
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, RunLabels, prepare, run_names, varying
from harness.results.run_identity import names_of_folders
from harness.system.errors import InputError
from harness.system.plurals import counted
from harness.system.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest
    from harness.results.run_folder import RunFolder

LONGEST_LABEL = 100
"""Characters of what a run is called."""


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
    """The variants of the experiments, in their order."""
    notes: tuple[str, ...] = ()
    """What a person should know of the choice of the runs, a line each."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of the rows, a line each: runs of other problems, rows of equal code."""


def read_runs(folders: Sequence[str | Path], labels: Sequence[str] = ()) -> Runs:
    """Read runs, each given by its folder or by its experiment's, of which the newest run is taken.

    `labels` say what the runs are called where they must be told apart, one for each folder.  Where several
    experiments set up one figure, the first one's settings hold.  Raises `InputError` when a folder holds no
    results, or their format is another version's, and for another number of labels.
    """
    from harness.results.loading import different_runs, open_run, tables_of, untimed_note

    if not folders:
        raise InputError("no results folder given; expected at least one")
    opened = [open_run(Path(folder)) for folder in folders]
    runs = different_runs(opened)
    identities = names_of_folders([run.place for run in runs])
    labels = _checked_labels([printable(label) for label in labels], opened, runs)
    names: RunLabels = {
        (run.experiment, name): label for run, name, label in zip(runs, identities, labels, strict=False)
    }
    experiments = [experiment_of(run) for run in runs]
    variants = tuple(
        dict.fromkeys(variant for experiment in experiments for variant in experiment.get("variants", []))
    )
    figures: dict[str, dict[str, Any]] = {}
    for experiment in experiments:
        figures = {**figures, **experiment.get("figures", {}), **figures}
    frame = prepare(tables_of(runs), variants, names)
    has_times = set(frame.loc[frame["time_s"].notna(), "run"])
    name_of = {run.path: name for run, name in zip(runs, identities, strict=True)}
    newest = [
        (Path(folder), run)
        for folder, run in zip(folders, opened, strict=True)
        if run.place == run.path and run.path.resolve() != Path(folder).resolve()
    ]
    untimed = [untimed_note(folder, run) for folder, run in newest if name_of.get(run.path) not in has_times]
    return Runs(
        folders=tuple(run.path for run in runs),
        names=tuple(identities),
        manifests=tuple(run.manifest for run in runs),
        frame=frame,
        figures=figures,
        labels=names,
        variants=variants,
        notes=(
            *(_partial_note(run) for _, run in newest if run.manifest.left_out),
            *(note for note in dict.fromkeys(untimed) if note is not None),
        ),
        remarks=(
            *(line for line in (_differing_problems(frame, names), _equal_code(frame)) if line),
            *_unmeasured(runs, identities),
        ),
    )


def _checked_labels(
    labels: Sequence[str], opened: Sequence[RunFolder], runs: Sequence[RunFolder]
) -> Sequence[str]:
    """Return the labels of different runs: none, or one for each."""
    if labels and not len(set(labels)) == len(labels) == len(opened) == len(runs):
        raise InputError(
            f"--label: found {', '.join(map(repr, labels))}, expected a different one for each of the "
            f"{len(opened)} folders, in their order; each run once, of {len(runs)} that differ"
        )
    longest = max(labels, key=len, default="")
    if len(longest) > LONGEST_LABEL:
        raise InputError(f"--label: found {len(longest):,} characters, expected at most {LONGEST_LABEL}")
    return labels


def _differing_problems(frame: pd.DataFrame, labels: RunLabels) -> str | None:
    """Return how many problems each run has where they are not the same, None where they are.

    Rows of different problems stand side by side in a merged report, and cannot be compared.
    """
    import numpy as np

    if not varying(frame, RUN_COLUMNS):
        return None
    numbers = numbered(frame, [column for column in PROBLEM_COLUMNS if column not in ("target", "threads")])
    run_numbers = numbered(frame, RUN_COLUMNS)
    members = frame.iloc[first_rows(run_numbers)]
    runs = zip(members["experiment"], members["run"], range(len(members)), strict=True)
    of_run = {
        (experiment, run): set(np.unique(numbers[run_numbers == number]).tolist())
        for experiment, run, number in sorted(runs)
    }
    shared = set.intersection(*of_run.values()) if of_run else set()
    if all(problems == shared for problems in of_run.values()):
        return None
    names = {**run_names(frame), **labels}
    counts = ", ".join(f"{names[run]} {len(problems)}" for run, problems in of_run.items())
    return f"The runs are of different problems ({counts}), of which {len(shared)} are in all of them."


def _equal_code(frame: pd.DataFrame) -> str | None:
    """Return how many rows are of the same code as another although their parameters differ; None if none is.

    Their times differ by chance alone, and to a reader a parameter seems to change nothing.
    """
    import numpy as np

    if "binary_digest" not in frame or not frame["binary_digest"].dropna().duplicated().any():
        return None
    rows_with_code = frame[frame["binary_digest"].notna()]
    codes = numbered(rows_with_code, [*RUN_COLUMNS, *PROBLEM_COLUMNS, "variant", "binary_digest"])
    count = len(codes) - len(np.unique(codes))
    if count == 0:
        return None
    rows = "1 row runs" if count == 1 else f"{count} rows run"
    return (
        f"{rows} the code of another row of the same variant and problem, under other parameters: tiles are "
        "cut to the lengths that there are; the column chosen has their sizes."
    )


def _unmeasured(runs: Sequence[RunFolder], names: Sequence[str]) -> Iterator[str]:
    """Yield what peaks and bandwidths could not be measured; of several runs it is said of which."""
    for run, name in zip(runs, names, strict=True):
        for line in run.manifest.unmeasured_lines:
            yield line if len(runs) == 1 else f"{name}: {line}"


def _partial_note(run: RunFolder) -> str:
    """Return what is to be known of a newest run that is only a part of its experiment."""
    left_out = counted(run.manifest.left_out, "case")
    return (
        f"{run.path} is the newest run, made with --only: it leaves out {left_out} of the "
        "experiment; name another run's folder to report that one"
    )


def experiment_of(run: RunFolder) -> dict[str, Any]:
    """Return the run's experiment as the manifest keeps it; empty where it was run from Python."""
    if not run.manifest.source:
        return {}
    try:
        experiment = tomllib.loads(run.manifest.source)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{run.path}: the experiment in its manifest is not TOML: {error}") from error
    profile = run.manifest.profile
    if profile is None or any(mistakes_in_profiles(experiment)) or unknown_profile(profile, experiment):
        return experiment
    return with_profile(experiment, profile)
