"""What did not pass, why, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.printable import markdown_code, markdown_text
from harness.reporting.frames import describe_problem, is_missing, records, sort_rows
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


@dataclass(frozen=True)
class Failure:
    """One failed case, or several others, such as unsupported ones, that share variant, target and reason."""

    status: str
    what: str
    """`flash · cpu · b1 h8 s256 d64 f32 causal`, or for unsupported ones `torch · cpu · 20 cases`."""
    where: str
    """` in run` where the phase is known, else empty."""
    reason: str
    rerun: str | None


def failures_of(frame: pd.DataFrame) -> list[Failure]:
    """List failed cases one by one, then others with a reason, grouped by variant, target and reason.

    Others are unsupported cases, those that were built and not run, and those that passed without a time.
    """
    if frame.empty:
        return []
    rows = records(sort_rows(frame))
    failed = [_failure(row) for row in rows if Status(row["status"]).is_failure]
    others: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        status = Status(row["status"])
        if status is Status.UNSUPPORTED or (not status.is_failure and not is_missing(row["reason"])):
            key = (str(status), str(row["label"]), str(row["target"]), _reason(row))
            others.setdefault(key, []).append(row)
    return failed + [_group(*key, group) for key, group in others.items()]


def print_failure_list(failures: list[Failure], console: Console) -> None:
    """Print each failure in two or three lines: status and case, reason, rerun command."""
    from rich.text import Text

    for failure in failures:
        is_failure = Status(failure.status).is_failure
        head = Text(failure.status, style="bold red" if is_failure else "dim")
        console.print(head + Text(f"  {failure.what}{failure.where}", style="bold"), soft_wrap=True)
        console.print(Text(f"    {failure.reason}"), soft_wrap=True)
        if failure.rerun is not None:
            console.print(Text(f"    rerun: {failure.rerun}"), soft_wrap=True)


def markdown_failures(failures: list[Failure]) -> str:
    """Return what did not pass as a Markdown list, empty where all did."""
    lines = []
    for failure in failures:
        what, reason = markdown_text(f"{failure.what}{failure.where}"), markdown_text(failure.reason)
        lines.append(f"- **{failure.status}** {what}: {reason}")
        if failure.rerun is not None:
            lines.append(f"  <br>rerun: {markdown_code(failure.rerun)}")
    return "\n".join(lines) + "\n" if lines else ""


def _failure(row: dict[str, Any]) -> Failure:
    return Failure(
        status=str(row["status"]),
        what=f"{row['label']} · {row['target']} · {describe_problem(row)}",
        where="" if is_missing(row["phase"]) else f" in {row['phase']}",
        reason=_reason(row),
        rerun=None if is_missing(row.get("rerun")) else str(row["rerun"]),
    )


def _group(status: str, label: str, target: str, reason: str, rows: list[dict[str, Any]]) -> Failure:
    cases = describe_problem(rows[0]) if len(rows) == 1 else f"{len(rows)} cases"
    return Failure(
        status=status,
        what=f"{label} · {target} · {cases}",
        where="",
        reason=reason,
        rerun=None,
    )


def _reason(row: dict[str, Any]) -> str:
    return "no reason recorded" if is_missing(row["reason"]) else " ".join(str(row["reason"]).split())
