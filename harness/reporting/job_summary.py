"""The outcome of a check as Markdown for the page of a continuous-integration job."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.reporting.failures import MOST_LISTED
from harness.reporting.outcomes import is_skipped, reason_of
from harness.reporting.tables import markdown_lines, markdown_rows
from harness.results.result import Result
from harness.system.errors import cut
from harness.system.plurals import counted
from harness.system.printable import markdown_code, markdown_text
from harness.system.storage.reading import refusals_told

LONGEST_REASON = 400


@dataclass(frozen=True)
class FailedCase:
    """A case that failed a check."""

    name: str
    """`flash · cpu · b1 h8 s256 d64 f32 causal`."""
    reason: str
    rerun: str


@dataclass(frozen=True)
class JobSummary:
    """What a job did to an experiment."""

    experiment: str
    rows: Sequence[Result]
    failed: Sequence[FailedCase]
    not_run: int = 0
    """Cases that were asked for and have no row."""
    run: str | None = None


def job_summary(summary: JobSummary) -> str:
    """Return counts by status, a table of failures, and why cases were not checked, as Markdown."""
    total = len(summary.rows) + summary.not_run
    cases, failed = counted(total, "case"), len(summary.failed)
    outcome = (
        f"{len(summary.rows)} of {cases} ran, {failed} failed"
        if summary.not_run
        else f"{failed} of {cases} failed"
    )
    parts = [
        f"## {markdown_text(summary.experiment)}: {outcome}",
        markdown_rows(("status", "cases"), _counts(summary), (False, True)),
    ]
    if summary.failed:
        listed = [
            (markdown_text(case.name), markdown_text(cut(case.reason, LONGEST_REASON)), _code(case.rerun))
            for case in summary.failed[:MOST_LISTED]
        ]
        parts += [
            "### Failures",
            markdown_lines(("case", "what happened", "run it alone"), listed, [False] * 3),
        ]
        if len(summary.failed) > MOST_LISTED:
            parts.append(f"and {len(summary.failed) - MOST_LISTED} more; the run's folder has them all")
    skipped = Counter((row.variant, reason_of(row)) for row in summary.rows if is_skipped(row))
    if skipped:
        listed = [
            (variant, str(count), cut(reason, LONGEST_REASON))
            for (variant, reason), count in list(skipped.items())[:MOST_LISTED]
        ]
        parts += [
            "### Not checked",
            markdown_rows(("variant", "cases", "reason"), listed, (False, True, False)),
        ]
    if summary.run is not None:
        parts.append(f"Tables and figures: {markdown_code(f'harness report {summary.run}')}")
    return "\n\n".join(parts) + "\n\n"


def append_summary(path: Path, text: str, argument: str) -> None:
    """Append a summary to a file, as services expect it; raises `InputError` that names the argument."""
    with refusals_told(f"{argument} {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def _counts(summary: JobSummary) -> list[tuple[str, str]]:
    counts = Counter(row.status.value for row in summary.rows)
    rows = [(name, str(count)) for name, count in counts.most_common()]
    return rows + ([("not run", str(summary.not_run))] if summary.not_run else [])


def _code(command: str) -> str:
    """Return a command as code in a cell, where a bar would end the cell."""
    return markdown_code(command).replace("|", "\\|")
