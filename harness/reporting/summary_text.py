"""The text of a report, in Markdown: question, machine, tables, what did not pass, figures with captions."""

from collections.abc import Sequence

import pandas as pd

from harness.reporting.captions import describe_code, describe_commands
from harness.reporting.drawing import Drawn
from harness.reporting.failures import failures_of, markdown_failures
from harness.reporting.panel_tables import PanelTable, markdown_panel, marks_explained
from harness.reporting.runs import Runs
from harness.reporting.tables import MOST_ROWS, Summary, markdown_table
from harness.system.printable import markdown_code, markdown_text

PANELS_READ = "Throughput and speed-ups: higher is better."
SUMMARY_READ = "Times: lower is better. Rates and speed-ups: higher is better."


def summary_markdown(runs: Runs, panels: Sequence[PanelTable], summary: Summary) -> str:
    """Return the report's text without its figures."""
    questions = dict.fromkeys(
        f"**{markdown_text(run.experiment)}**: {markdown_text(run.question)}" for run in runs.manifests
    )
    origins = [
        f"- {markdown_text(run.experiment)} {markdown_code(name)}: {markdown_text(run.device)}, "
        f"{describe_code(run)}, {describe_commands(run, markdown_code)}"
        for name, run in zip(runs.names, runs.manifests, strict=True)
    ]
    parts = [
        f"# {', '.join(dict.fromkeys(markdown_text(run.experiment) for run in runs.manifests))}",
        *map(markdown_text, runs.unfinished),
        "\n\n".join(questions),
        "\n".join(origins),
        *map(markdown_text, runs.remarks),
        *_panels(panels),
        *_summary(summary, runs.frame),
    ]
    failures = markdown_failures(failures_of(runs.frame, MOST_ROWS)).rstrip()
    if failures:
        parts += ["## Not passed", failures]
    return "\n\n".join(parts) + "\n"


def figures_markdown(drawn: Drawn) -> str:
    """Return what follows on the figures, those that were not drawn among them."""
    parts = ["\n## Figures"] if drawn.files or drawn.skipped else []
    for name, files in drawn.files.items():
        image = next((file for file in files if file.suffix in (".png", ".svg")), files[0])
        parts += [f"![{name}]({image.name})", f"*{name}*: {markdown_text(drawn.captions[name])}"]
    parts += [f"*{name}* not drawn: {markdown_text(reason)}." for name, reason in drawn.skipped.items()]
    return "\n\n".join(parts) + "\n" if parts else ""


def _panels(panels: Sequence[PanelTable]) -> list[str]:
    parts = ["## Variants and lengths", PANELS_READ] if panels else []
    for panel in panels:
        parts += [f"**{markdown_text(panel.title)}**", markdown_panel(panel).rstrip()]
    return [*parts, *marks_explained([panel.with_intervals for panel in panels])]


def _summary(summary: Summary, rows: pd.DataFrame) -> list[str]:
    legend = [SUMMARY_READ] if bool(rows["time_s"].notna().any()) else []
    parts = ["## Summary", markdown_text(summary.title), *legend, markdown_table(summary).rstrip()]
    parts += [f"And {summary.hidden} more rows in `results.csv`."] if summary.hidden else []
    return [*parts, *map(markdown_text, summary.notes)]
