"""From a figure's file back to the runs, rows and commands that it comes from: `harness explain`."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.reporting.figures.embedding import read_embedded
from harness.reporting.figures.origin import MOST_ROWS, Origin, RunOrigin, key_of_entry, manifest_digest
from harness.reporting.units import EMPTY, significant, time_unit
from harness.results.run_folder import MANIFEST_FILE, RunFolder
from harness.system.errors import InputError
from harness.system.printable import shell_line

DEPTHS = ("", "*/", "*/*/", "*/*/*/")
SHORT_DIGEST = 12
PLAIN_WORD = re.compile(r"(?!(?:true|false|inf|nan)$)[A-Za-z_][\w-]*")
"""What `--set` takes for a text without quotation marks."""


@dataclass(frozen=True)
class FoundRun:
    """A run's folder, as it is now."""

    folder: RunFolder
    is_unchanged: bool
    """Whether its manifest is the one that the figure was drawn with."""


def explain(file: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Yield lines that say where a figure comes from; runs are looked for in the folders `roots`."""
    origin = read_origin(file)
    found_runs = [find_run(run, file, roots) for run in origin.runs]
    yield f"figure    {' '.join([origin.figure, *_assignments(origin.settings)])}"
    for run, folder in zip(origin.runs, found_runs, strict=True):
        yield from _run_lines(run, folder, roots)
    yield from _row_lines(origin)
    yield f"redraw    {redraw_line(origin, found_runs, file)}"


def read_origin(file: Path) -> Origin:
    """Return what a figure's file says of its origin."""
    expected = "expected a figure of a report, which says where it comes from"
    text = read_embedded(file)
    if text is None:
        raise InputError(f"{file}: says nothing of its origin, {expected}")
    try:
        return Origin.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{file}: its origin cannot be read, {expected}") from error


def find_run(run: RunOrigin, file: Path, roots: Sequence[Path]) -> FoundRun | None:
    """Return the run that a figure was drawn from: the one around the file, else one below `roots`."""
    folders = [folder for folder in file.absolute().parents[:2] if (folder / MANIFEST_FILE).is_file()]
    for root, depth in itertools.product(roots, DEPTHS):
        folders += (path.parent for path in sorted(root.glob(f"{depth}{MANIFEST_FILE}")))
    name = (run.experiment, run.run.rpartition("/")[2])
    is_unchanged = {folder: manifest_digest(folder) == run.manifest_digest for folder in folders}
    is_named = {folder: (folder.parent.name, folder.name) == name for folder in folders}
    candidates = [path for path in folders if is_unchanged[path] or is_named[path]]
    for path in sorted(candidates, key=lambda path: (not is_unchanged[path], not is_named[path])):
        with contextlib.suppress(InputError):  # a manifest of another version
            return FoundRun(RunFolder.open(_shown_path(path)), is_unchanged[path])
    return None


def redraw_line(origin: Origin, found_runs: Sequence[FoundRun | None], file: Path) -> str:
    """Return the command that draws a figure again; a run that is not found stands by its name."""
    folders = [
        str(now.folder.path) if now is not None else f"{run.experiment}/{run.run}"
        for run, now in zip(origin.runs, found_runs, strict=True)
    ]
    if origin.published_only is not None:
        folders = ["--published-only", origin.published_only]
    labels = [f"--label={run.label}" for run in origin.runs if run.label is not None]
    assignments = [*_assignments(origin.settings), *(f"{name}=" for name in origin.unset)]
    settings = [word for setting in assignments for word in ("--set", setting)]
    own = [now.folder.path.absolute() / "report" for now in found_runs if now is not None]
    folder = file.absolute().parent
    out = [] if [folder] == own else ["--out", str(_shown_path(folder))]
    return shell_line(["harness", "report", *folders, *labels, *out, "--figure", origin.figure, *settings])


def _run_lines(run: RunOrigin, found_run: FoundRun | None, roots: Sequence[Path]) -> Iterator[str]:
    digest = run.manifest_digest[:SHORT_DIGEST]
    if found_run is None:
        below = ", ".join(map(str, roots)) or "no folder"
        name = f"{run.experiment}/{run.run}"
        yield f"run       {name}: not found beside the figure nor below {below} (--results DIR)"
        yield f"          what follows stands in the figure's own file; manifest {digest}"
    else:
        state = "manifest as it was" if found_run.is_unchanged else "gone on with, or changed, since"
        yield f"run       {found_run.folder.path} ({state}; manifest {digest})"
    if run.label is not None:
        yield f"label     {run.label}"
    yield f"command   {run.command}"
    yield f"started   {run.started}"
    commit = f", commit {run.git_commit}" if run.git_commit is not None else ""
    modified = " (modified)" if run.git_dirty else ""
    sources = run.code_digest[:SHORT_DIGEST]
    yield f"code      harness {run.harness_version}{commit}{modified}, sources {sources}"
    yield from (f"          resumed with {part}" for part in run.resumed_with)
    yield f"device    {', '.join([run.device, *run.gpus])}"
    if found_run is not None:
        manifest = found_run.folder.manifest
        packages = [f"{name} {version}" for name, version in manifest.packages.items()]
        yield f"versions  {', '.join([manifest.python, *packages])}"


def _row_lines(origin: Origin) -> Iterator[str]:
    if not origin.rows:
        count = origin.row_count
        yield f"rows      {count}, more than the {MOST_ROWS} that a file lists"
        return
    unit = time_unit([row.time_s for row in origin.rows if row.time_s is not None])
    yield f"rows      {origin.row_count}"
    cells = [("case", "series", "target", "status", f"time ({unit.symbol})")]
    for row in origin.rows:
        time = EMPTY if row.time_s is None else significant(row.time_s * unit.factor)
        cells.append((row.case, row.series, row.target, row.status, time))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (f"{text:<{width}}" for text, width in zip(line, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()


def _assignments(settings: dict[str, Any]) -> Iterator[str]:
    """Yield settings as `--set` takes them; a text of one word needs no quotation marks."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from (f"{key_of_entry(name, entry)}={text}" for entry, text in value.items())
        elif isinstance(value, str) and PLAIN_WORD.fullmatch(value):
            yield f"{name}={value}"
        else:
            yield f"{name}={json.dumps(value, ensure_ascii=False)}"


def _shown_path(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
