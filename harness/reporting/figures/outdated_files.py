"""Files that an earlier report has left of a figure: they go where they show other rows than those of now."""

from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from harness.errors import InputError
from harness.reporting.figures.base import FORMATS
from harness.reporting.figures.embedding import read_embedded
from harness.reporting.figures.origin import Origin, RunOrigin
from harness.results.run_folder import RESULTS_FILE

DATA = "dat"
"""Ending of the table of a figure's numbers."""


def remove_outdated(folder: Path, name: str, drawn: Origin | None, written: Collection[Path]) -> bool:
    """Remove a figure's files that are not `written` now and show other rows; return whether there were any.

    `drawn` is what the figure shows now, None where it could not be drawn.  A file that does not say that it
    is this figure is somebody's own, and stays.
    """
    is_any = False
    for ending in (*FORMATS, DATA):
        file = folder / f"{name}.{ending}"
        if file in written or not file.is_file() or file.is_symlink():
            continue
        earlier = _origin(file)
        if earlier is None or earlier.figure != name:
            continue
        if drawn is not None and (earlier.runs, earlier.rows) == (drawn.runs, drawn.rows):
            continue
        file.unlink(missing_ok=True)
        is_any = True
    return is_any


def files_of_earlier_rows(
    folder: Path, runs: Sequence[RunOrigin], places: Sequence[Path]
) -> dict[str, list[Path]]:
    """Return the files of figures, by name, that were drawn before some run got its rows of now.

    Meant for figures that are not drawn now.  `places` are the folders of the runs.  A file whose run has
    the manifest that it had then, or no newer row than the file, is none of them.
    """
    outdated: dict[str, list[Path]] = {}
    for file in sorted(path for ending in (*FORMATS, DATA) for path in folder.glob(f"*.{ending}")):
        earlier = None if file.is_symlink() or not file.is_file() else _origin(file)
        if earlier is None or earlier.figure != file.stem:
            continue
        then = {(run.experiment, run.run): run.manifest_digest for run in earlier.runs}
        changed = [
            place
            for run, place in zip(runs, places, strict=True)
            if then.get((run.experiment, run.run), run.manifest_digest) != run.manifest_digest
        ]
        if any((place / RESULTS_FILE).stat().st_mtime_ns > file.stat().st_mtime_ns for place in changed):
            outdated.setdefault(file.stem, []).append(file)
    return outdated


def _origin(file: Path) -> Origin | None:
    try:
        text = read_embedded(file)
        return None if text is None else Origin.model_validate_json(text)
    except (InputError, ValidationError):
        return None
