"""The page itself: what a report says, put into the templates."""

import base64
import importlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.reporting.captions import GONE_ON, describe_code
from harness.reporting.drawing import Drawn
from harness.reporting.failures import failures_of
from harness.reporting.html.paired_series import paired_series
from harness.reporting.html.results_table import results_table
from harness.reporting.html.stages import stored_stages
from harness.reporting.html.status_matrix import status_matrix
from harness.reporting.measurement_notes import too_low_peak_notes
from harness.reporting.panel_tables import PanelTable, marks_explained
from harness.reporting.runs import Runs
from harness.reporting.summary_columns import summary_title
from harness.reporting.summary_text import PANELS_READ, SUMMARY_READ
from harness.results.manifest import Manifest
from harness.system.errors import HarnessError
from harness.system.plurals import counted
from harness.system.printable import install_line
from harness.system.status import Status

MOST_FAILURES = 200
LIBRARY = "itables"
"""The package that brings DataTables, which makes tables sortable and filterable."""
LARGEST_PICTURE = 3_000_000
"""Bytes of a file that a page holds; of a larger one the page says the name."""
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
"""What a browser shows, by suffix, the better first."""


def html_page(runs: Runs, panels: Sequence[PanelTable], drawn: Drawn) -> str:
    """Return the report of runs as one HTML file.

    It fetches nothing: its policy forbids the browser whatever is not in the file.  Equal results, and an
    equal cache of built code, give an equal page.
    """
    rows = runs.frame
    stages = stored_stages(rows)
    counts = {Status(str(name)): count for name, count in rows["status"].value_counts().items()}
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            library=_library(),
            experiments=list(dict.fromkeys(run.experiment for run in runs.manifests)),
            questions=dict.fromkeys((run.experiment, run.question) for run in runs.manifests),
            runs=[
                {"name": name, "manifest": run, "code": describe_code(run), "entries": entries(run)}
                for name, run in zip(runs.names, runs.manifests, strict=True)
            ],
            gone_on=GONE_ON,
            unfinished=runs.unfinished,
            notes=runs.remarks,
            counts=[(status, counts[status]) for status in Status if status in counts],
            panels=panels,
            panels_read=PANELS_READ,
            panel_notes=marks_explained([panel.with_intervals for panel in panels]),
            failures=failures_of(rows, MOST_FAILURES),
            matrix=status_matrix(rows),
            table=results_table(rows),
            table_title=summary_title(rows),
            table_read=SUMMARY_READ if bool(rows["time_s"].notna().any()) else None,
            table_notes=[f"{note}." for note in too_low_peak_notes(rows)],
            drawn=drawn,
            addresses={name: _picture_address(files) for name, files in drawn.files.items()},
            series=paired_series(rows),
            stages=stages,
            stages_data=list(map(asdict, stages.cases)),
        )
    )


def entries(manifest: Manifest) -> dict[str, Any]:
    """Return what a manifest says, by name; what it does not know is left out."""
    values = manifest.model_dump(mode="json", exclude={"source", "spent_s"})
    planned = None if manifest.planned is None else counted(len(manifest.planned), "case")
    parts = {str(number): part for number, part in enumerate(values["parts"], start=1)}
    values |= {"planned": planned, "left_out": manifest.left_out or None, "parts": parts}
    (flat,) = pd.json_normalize(values, sep=" · ").to_dict("records")
    return {str(name).replace("_", " "): value for name, value in flat.items() if value not in (None, [], {})}


def compile_templates() -> None:
    """Compile all templates, and import what tables and figures need, ahead of the first report."""
    for module in ("pandas.io.formats.style", "matplotlib.figure"):
        importlib.import_module(module)
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _library() -> dict[str, str]:
    """Return the library for tables: its version, licence, style, and its script as a `data:` address."""
    try:
        package = distribution(LIBRARY)
        folder = Path(str(package.locate_file(f"{LIBRARY}/html")))
        return {
            "version": package.version,
            "licence": package.read_text("licenses/LICENSE") or "",
            "style": (folder / "dt_bundle.css").read_text(),
            "script": _data_address("text/javascript", (folder / "dt_bundle.js").read_bytes()),
        }
    except (PackageNotFoundError, OSError) as error:
        raise HarnessError(f"{LIBRARY} is not installed; expected: {install_line(LIBRARY)}") from error


def _picture_address(files: Sequence[Path]) -> str | None:
    """Return a figure as an address; None where no browser can show its files, or they are too large."""
    for suffix, media_type in MEDIA_TYPES.items():
        for file in files:
            if file.suffix == suffix and file.stat().st_size <= LARGEST_PICTURE:
                return _data_address(media_type, file.read_bytes())
    return None


def _data_address(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
