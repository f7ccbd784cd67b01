"""What `harness compare` does: two runs, case by case, and an exit status for CI."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.runs import note
from harness.results.output_folder import ensure_writable_folder
from harness.system.errors import InputError, RunInterrupted, StoppedError
from harness.system.printable import printable

if TYPE_CHECKING:
    from harness.bench.comparing.comparison import Comparison
    from harness.bench.comparing.verdicts import Margins

DEFAULT_BUDGET_S = 20.0
LONGER = 4
"""How many times as long ambiguous cases are to be measured again: intervals shrink by the root of that."""
RUNS_FOLDER = "revisions"


class FailOn(StrEnum):
    """Which verdicts end in exit status 1."""

    SLOWER = "slower"
    AMBIGUOUS = "ambiguous"


def margins_of(threshold: float, minimum_effect: float) -> "Margins":
    """Return which differences matter; raises `InputError` where the two shares exclude each other."""
    from harness.bench.comparing.verdicts import Margins

    try:
        return Margins(threshold, minimum_effect)
    except ValueError as error:
        raise InputError(f"--{error}") from error


def compared_folders(runs: Sequence[Path], margins: "Margins") -> "Comparison":
    """Compare two runs that are there."""
    from harness.bench.comparing.comparison import USUAL, compare_runs
    from harness.bench.comparing.turns_taken import IN_TURN
    from harness.results.loading import open_run, taken_line

    if len(runs) != 2:
        raise InputError(f"found {len(runs)} folders, expected OLD and NEW, two runs")
    old, new = map(open_run, runs)
    comparison = compare_runs(old, new, margins)
    taken = [taken_line(path, run) for path, run in zip(runs, (old, new), strict=True)]
    comparison = replace(comparison, notes=(*comparison.notes, *filter(None, taken)))
    if not (comparison.cases["how"] == IN_TURN).any():
        return comparison
    commits = [f"{run.manifest.latest.git_commit}" for run in (old, new)]
    budget = re.search(r"--budget[ =](\d+(?:\.\d+)?)", new.manifest.latest.command)
    words = ["compare", *new.manifest.named_by, "--revisions", *commits]
    if margins != USUAL:
        words += ["--threshold", f"{margins.threshold:g}", "--minimum-effect", f"{margins.minimum_effect:g}"]
    return _with_longer_command(comparison, words, float(budget[1]) if budget else DEFAULT_BUDGET_S)


def compared_in_turn(
    runs: Sequence[Path],
    revisions: tuple[str, str],
    margins: "Margins",
    *,
    budget_s: float | None,
    only: Sequence[str],
    out: Path,
    profile: str | None,
    resume: bool,
) -> "Comparison":
    """Run an experiment with two revisions in turn and compare them."""
    from harness.bench.comparing.revisions import checked_out, compare_revisions, edited_files
    from harness.bench.running.signals import ended_by_signals
    from harness.experiment.experiment import named_experiment
    from harness.system.machine.cores import available_cores

    if len(runs) != 1:
        raise InputError(f"--revisions: found {len(runs)} arguments, expected one, an experiment")
    budget_s = DEFAULT_BUDGET_S if budget_s is None else budget_s
    experiment = named_experiment(str(runs[0]), profile)
    cases = experiment.cases(list(only))  # which says what is wrong before anything is built
    folder = (ensure_writable_folder(out) / RUNS_FOLDER).resolve()
    with ended_by_signals(), checked_out(revisions, Path.cwd()) as clones:
        edited = edited_files(Path.cwd())
        if edited:
            note([f"files whose changes are in no revision, since they are not committed: {edited}"])
        try:
            comparison = compare_revisions(
                clones,
                experiment,
                cases,
                folder / "-".join(clone.commit[:7] for clone in clones),
                margins=margins,
                budget_s=budget_s,
                command=sys.argv,
                tell=lambda line: typer.echo(printable(line)),
                jobs=available_cores(),
                resume=resume,
            )
        except RunInterrupted as interruption:
            raise StoppedError(str(interruption)) from interruption
    asked = _without_values(sys.argv[1:], ("--only", "--budget"))
    return _with_longer_command(comparison, [word for word in asked if word != "--resume"], budget_s)


def _with_longer_command(comparison: "Comparison", words: Sequence[str], budget_s: float) -> "Comparison":
    """Return a comparison of two revisions with the command that times its cases for longer."""
    longer_s = LONGER * budget_s
    return replace(
        comparison,
        made_by=("harness", *words, "--budget", f"{longer_s:g}"),
        longer=f", {longer_s:g} s a case instead of {budget_s:g}, which halves intervals",
    )


def _without_values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words of a command without these options and their values."""
    kept: list[str] = []
    is_value = False
    for word in words:
        if not is_value and word.partition("=")[0] not in options:
            kept.append(word)
        is_value = not is_value and word in options
    return kept


def tell_comparison(comparison: "Comparison", markdown_file: Path | None, json_file: Path | None) -> None:
    """Print a comparison and write it to files; exits with 1 where it fails."""
    from harness.bench.comparing.text import markdown, plain_lines

    for line in plain_lines(comparison):
        typer.echo(printable(line))
    if markdown_file is not None:
        markdown_file.write_text(markdown(comparison), encoding="utf-8")
    if json_file is not None:
        comparison.cases.to_json(json_file, orient="records", indent=1, double_precision=15)
    if comparison.fails:
        raise typer.Exit(1)


def share_of(text: object) -> float:
    """Return `3%` or `0.03` as a number."""
    words = str(text)
    try:
        number = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise typer.BadParameter(f"found {words!r}, expected a share such as 3% or 0.03")
    return number
