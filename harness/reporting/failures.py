"""What did not pass, why, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.frames import PROBLEM_COLUMNS, describe_problem, is_missing, records
from harness.system.plurals import counted
from harness.system.printable import markdown_code, markdown_text
from harness.system.status import FAILURES, Status

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


MOST_LISTED = 100
"""More failures than this are counted, not listed."""
OUTCOME_COLUMNS = ("status", "variant", "label", "phase", "reason", "rerun")
NO_REASON = "no reason recorded"
IN_THE_CSV = "results.csv lists them all"


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


def failures_of(frame: pd.DataFrame, most: int = MOST_LISTED) -> list[Failure]:
    """List failed cases one by one, at most so many, then others with a reason, grouped by what they share.

    Others are unsupported cases, those that were built and not run, and those that passed without a time.
    """
    failed = frame[frame["status"].isin([str(status) for status in FAILURES])]
    listed = [_failure(row) for row in records(failed.head(most)[_columns(frame)])]
    rest = failed["status"].iloc[most:].value_counts(sort=False)
    listed += [
        Failure(str(status), counted(count, "more case"), "", IN_THE_CSV, None)
        for status, count in rest.items()
    ]
    is_other = (frame["status"] == Status.UNSUPPORTED) | frame["reason"].notna()
    others = frame.loc[is_other, _columns(frame)].drop(failed.index, errors="ignore")
    others = others.assign(reason=others["reason"].fillna(NO_REASON), label=others["label"].astype(str))
    groups = others.groupby(["status", "label", "target", "reason"], sort=False)
    return listed + [_failure(records(rows.head(1))[0], len(rows)) for _, rows in groups]


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


def _columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that say what failed and which problem it was."""
    return [column for column in (*OUTCOME_COLUMNS, *PROBLEM_COLUMNS) if column in frame]


def _failure(row: dict[str, Any], cases: int = 1) -> Failure:
    """Describe a failed case, or several others by the first of them."""
    is_failure = Status(row["status"]).is_failure
    what = describe_problem(row) if cases == 1 else counted(cases, "case")
    return Failure(
        status=str(row["status"]),
        what=f"{row['label']} · {row['target']} · {what}",
        where=f" in {row['phase']}" if is_failure and not is_missing(row["phase"]) else "",
        reason=NO_REASON if is_missing(row["reason"]) else " ".join(str(row["reason"]).split()),
        rerun=str(row["rerun"]) if is_failure and not is_missing(row.get("rerun")) else None,
    )
