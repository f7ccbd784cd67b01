"""What `harness compare` does: two runs, case by case, and an exit status for CI."""

from pathlib import Path

import typer

from harness.errors import InputError
from harness.printable import printable


def compare_folders(
    old: Path, new: Path, *, threshold: str, markdown_file: Path | None, json_file: Path | None
) -> None:
    """Compare two runs and tell; exits with 1 where a case is slower, or no longer right."""
    from harness.comparing.benchmark_json import benchmark_json
    from harness.comparing.comparison import compare_runs
    from harness.comparing.text import markdown, plain_lines
    from harness.results.run_folder import open_run

    limit = share_of(threshold)
    comparison = compare_runs(open_run(old), open_run(new), limit)
    for line in plain_lines(comparison):
        typer.echo(printable(line))
    if markdown_file is not None:
        _write(markdown_file, markdown(comparison), "--markdown")
    if json_file is not None:
        _write(json_file, benchmark_json(comparison), "--json")
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
