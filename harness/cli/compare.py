"""What `harness compare` does: two runs, case by case, and an exit status for CI."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.options import DEFAULT_OUT, DEFAULT_THRESHOLD
from harness.cli.runs import note
from harness.system.errors import InputError, RunInterrupted, StoppedError
from harness.system.printable import printable

if TYPE_CHECKING:
    from harness.bench.comparing.comparison import Comparison

DEFAULT_PAIRS = 6
RUNS_FOLDER = "revisions"
"""Below the folder of results: what the revisions' runs are kept in."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of a comparison."""

    threshold: str
    markdown_file: Path | None
    json_file: Path | None

    @property
    def limit(self) -> float:
        """The smallest difference that matters, a share."""
        return share_of(self.threshold)


def compare_folders(runs: Sequence[Path], wanted: Wanted, *, is_run: bool) -> None:
    """Compare two runs and tell; exits with 1 where a case is slower, or no longer right.

    `is_run` says that options were given which only runs of revisions take.
    """
    from harness.bench.comparing.comparison import compare_runs
    from harness.results.loading import open_run, untimed_note

    if is_run:
        options = "--pairs, --only, --profile and --resume"
        raise InputError(f"{options}: found no --revisions, whose runs they are for")
    if len(runs) != 2:
        raise InputError(f"found {len(runs)} folders, expected OLD and NEW, two runs")
    _require_writable(wanted)
    old, new = map(open_run, runs)
    comparison = compare_runs(old, new, wanted.limit)
    untimed = [
        untimed_note(path, run)
        for path, run in zip(runs, (old, new), strict=True)
        if not run.table()["time_s"].notna().any()
    ]
    notes = (*comparison.notes, *(note for note in untimed if note is not None))
    _tell(replace(comparison, notes=notes), wanted)


def compare_in_turn(
    runs: Sequence[Path],
    revisions: tuple[str, str],
    wanted: Wanted,
    *,
    pairs: int | None,
    only: Sequence[str],
    out: Path,
    profile: str | None = None,
    resume: bool = False,
) -> None:
    """Run an experiment with two revisions in turn, compare them and tell; exits as `compare_folders`."""
    from harness.bench.comparing.revisions import checked_out, compare_revisions, edited_files
    from harness.bench.running.signals import ended_by_signals
    from harness.experiment.experiment import load_experiment
    from harness.experiment.shipped import find_experiment
    from harness.results.output_folder import ensure_writable_folder

    if len(runs) != 1:
        raise InputError(f"--revisions: found {len(runs)} arguments, expected one, an experiment")
    pairs = DEFAULT_PAIRS if pairs is None else pairs
    limit, file = wanted.limit, Path(find_experiment(str(runs[0]))).resolve()
    load_experiment(file, profile).cases(list(only))  # which says what is wrong before anything is built
    ensure_writable_folder(out)
    _require_writable(wanted)
    folder = (out / RUNS_FOLDER).resolve()
    with ended_by_signals(), checked_out(revisions, Path.cwd()) as clones:
        edited = edited_files(Path.cwd())
        if edited:
            note([f"files whose changes are in no revision, since they are not committed: {edited}"])
        try:
            comparison = compare_revisions(
                clones,
                file,
                folder / "-".join(clone.commit[:7] for clone in clones),
                only=only,
                pairs=pairs,
                threshold=limit,
                tell=typer.echo,
                profile=profile,
                resume=resume,
            )
        except RunInterrupted as interruption:
            raise StoppedError(str(interruption)) from interruption
    again = ["harness", "compare", "--revisions", *revisions, str(runs[0]), "--pairs", str(2 * pairs)]
    again += [] if profile is None else ["--profile", profile]
    again += [] if out == DEFAULT_OUT else ["--out", str(out)]
    again += [] if wanted.threshold == DEFAULT_THRESHOLD else ["--threshold", wanted.threshold]
    _tell(replace(comparison, made_by=tuple(again)), wanted)


def _require_writable(wanted: Wanted) -> None:
    """Raise `InputError` unless the files that are asked for can be written, before anything is run."""
    from harness.results.output_folder import ensure_writable_file

    for file, option in ((wanted.markdown_file, "--markdown"), (wanted.json_file, "--json")):
        if file is not None:
            ensure_writable_file(file, option)


def _tell(comparison: "Comparison", wanted: Wanted) -> None:
    from harness.bench.comparing.benchmark_json import benchmark_json
    from harness.bench.comparing.text import markdown, plain_lines

    for line in plain_lines(comparison):
        typer.echo(printable(line))
    if wanted.markdown_file is not None:
        _write(wanted.markdown_file, markdown(comparison), "--markdown")
    if wanted.json_file is not None:
        _write(wanted.json_file, benchmark_json(comparison), "--json")
    if comparison.is_worse:
        raise typer.Exit(1)


def share_of(text: str) -> float:
    """Return `3%` or `0.03` as a number; raises `InputError` for what is none, or no share."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise InputError(f"--threshold: found {text!r}, expected a share such as 3% or 0.03")
    return number


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}; expected a file that can be written") from error
