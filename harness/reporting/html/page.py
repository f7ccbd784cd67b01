"""The page itself: what a report says, put into the templates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.reporting.captions import GONE_ON, describe_code
from harness.reporting.failures import failures_of, missing_packages, without_missing
from harness.reporting.html.embedding import (
    script_json,
    script_text,
    shown_text,
    source_digest,
    style_text,
)
from harness.reporting.html.library import table_library
from harness.reporting.html.paired_series import paired_series
from harness.reporting.html.pictures import pictures
from harness.reporting.html.provenance import entries
from harness.reporting.html.results_table import results_table
from harness.reporting.html.stages import stored_stages
from harness.reporting.html.status_matrix import status_matrix
from harness.reporting.measurement_notes import too_low_peak_notes
from harness.reporting.panel_tables import notes_on_rates, notes_on_runs, panel_tables
from harness.reporting.summary_columns import summary_title
from harness.reporting.summary_text import PANELS_READ, SUMMARY_READ
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.reporting.drawing import Drawn
    from harness.reporting.runs import Runs

TEMPLATES = "templates"
SCRIPTS = ("page.js", "results.js", "compare.js", "stages.js")
"""The page's own scripts, in their order; they follow the library's."""
MOST_FAILURES = 200
"""Failures that a page lists one by one."""


def html_page(runs: Runs, rows: pd.DataFrame, drawn: Drawn) -> str:
    """Return the report of runs as one HTML file; `rows` are theirs, sorted.

    It fetches nothing: its policy forbids the browser whatever is not in the file, and any script but its
    own.  Equal results, and an equal cache of built code, give an equal page.  Raises `HarnessError` where
    the library for tables is not installed.
    """
    library = table_library()
    scripts = [
        script_text(library.script, "itables"),
        *(script_text(_source(name), name) for name in SCRIPTS),
    ]
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            **_content(runs, rows, drawn),
            scripts=scripts,
            script_sources=" ".join(f"'{source_digest(script)}'" for script in scripts),
            styles=[style_text(library.style, "itables"), style_text(_source("page.css"), "page.css")],
            library_version=library.version,
        )
    )


def _content(runs: Runs, rows: pd.DataFrame, drawn: Drawn) -> dict[str, Any]:
    """Return what the template shows, by the names that it has there."""
    missing = missing_packages(rows)
    shown = rows if missing is None else without_missing(rows)
    panels = panel_tables(shown)
    table, series, stages = results_table(rows), paired_series(shown), stored_stages(rows)
    counts = {Status(str(name)): count for name, count in rows["status"].value_counts().items()}
    return {
        "experiments": list(dict.fromkeys(run.experiment for run in runs.manifests)),
        "questions": dict.fromkeys((run.experiment, run.question) for run in runs.manifests),
        "runs": [
            {"name": name, "manifest": run, "code": describe_code(run), "entries": entries(run)}
            for name, run in zip(runs.names, runs.manifests, strict=True)
        ],
        "gone_on": GONE_ON,
        "labels": runs.labels,
        "notes": [note for note in (*runs.remarks, missing) if note],
        "counts": [(status, counts[status]) for status in Status if status in counts],
        "panels": [{"table": panel, "texts": panel.texts(with_interval=True)} for panel in panels],
        "panels_read": PANELS_READ,
        "panel_notes": notes_on_runs(panels),
        "rate_notes": notes_on_rates(panels),
        "failures": failures_of(shown, MOST_FAILURES),
        "matrix": status_matrix(rows),
        "table": table,
        "table_data": script_json(table.data),
        "table_title": summary_title(rows),
        "table_read": SUMMARY_READ if bool(rows["time_s"].notna().any()) else None,
        "table_notes": [f"{note}." for note in too_low_peak_notes(rows)],
        "pictures": pictures(drawn),
        "not_drawn": drawn.skipped,
        "series": series,
        "series_data": None if series is None else script_json(series.data),
        "stages": stages,
        "stages_data": script_json([case.data for case in stages.cases]),
    }


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__package__, TEMPLATES),
        autoescape=True,
        finalize=shown_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def compile_templates() -> None:
    """Compile all templates ahead of the first page."""
    environment = _environment()
    for name in environment.list_templates(extensions=["html", "j2", "jinja"]):
        environment.get_template(name)


def _source(name: str) -> str:
    """Return the text of a file beside the templates."""
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
