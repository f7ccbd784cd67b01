"""What did not pass, why, and how to see it again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting.distinct import numbered
from harness.reporting.frames import PROBLEM_COLUMNS, describe_problem, is_missing, records
from harness.system.plurals import counted
from harness.system.printable import markdown_code, markdown_text
from harness.system.status import FAILURES, Status

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


MOST_LISTED = 100
"""More errors than this are counted, not listed."""
OUTCOME_COLUMNS = ("status", "variant", "label", "phase", "reason", "rerun")
NO_REASON = "no reason recorded"
IN_THE_CSV = "results.csv lists them all"
OF_ONE_CASE = re.compile(r" \(log: [^()]*\)$| at 0x[0-9a-f]+")
"""What reasons of one error differ in: where a case's own log lies, and addresses."""


@dataclass(frozen=True)
class Failure:
    """A case that did not pass, or several of one variant with one and the same error."""

    status: str
    what: str
    """`flash · cpu · b1 h8 s256 d64 f32 causal`, or of several `flash · cpu · 20 cases, first b1 …`."""
    where: str
    """` in run` where the phase is known, else empty."""
    reason: str
    rerun: str | None
    """The command that repeats the first of them."""


def error_in(reason: str) -> str:
    """Return a reason without what another case's of the same error differs in."""
    return OF_ONE_CASE.sub("", reason)


def failures_of(frame: pd.DataFrame, most: int = MOST_LISTED) -> list[Failure]:
    """List what failed, at most so many, then other cases with a reason; a reason that several share once."""
    is_failed = frame["status"].isin([str(status) for status in FAILURES])
    is_other = ~is_failed & ((frame["status"] == Status.UNSUPPORTED) | frame["reason"].notna())
    failed = _with_errors(frame.loc[is_failed, _columns(frame)])
    is_listed = failed["error"] < most
    rest = failed["status"][~is_listed].value_counts(sort=False)
    return [
        *map(_failure, _of_each_error(failed[is_listed])),
        *(
            Failure(str(status), counted(count, "more case"), "", IN_THE_CSV, None)
            for status, count in rest.items()
        ),
        *map(_failure, _of_each_error(_with_errors(frame.loc[is_other, _columns(frame)]))),
    ]


def _with_errors(rows: pd.DataFrame) -> pd.DataFrame:
    reasons = rows["reason"].fillna(NO_REASON).astype(str)
    rows = rows.assign(reason=reasons, why=reasons.map(error_in), label=rows["label"].astype(str))
    return rows.assign(error=numbered(rows, ["status", "variant", "phase", "why"]))


def _of_each_error(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [cases for _, cases in rows.groupby("error", sort=False)]


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
    return [column for column in (*OUTCOME_COLUMNS, *PROBLEM_COLUMNS) if column in frame]


def _failure(cases: pd.DataFrame) -> Failure:
    row = records(cases.head(1))[0]
    labels, targets = cases["label"].unique(), cases["target"].unique()
    is_failure = Status(row["status"]).is_failure
    series = row["label"] if len(labels) == 1 else row["variant"]
    what = describe_problem(row)
    if len(cases) > 1:
        what = counted(len(cases), "case") + (f", first {what}" if is_failure else "")
    return Failure(
        status=str(row["status"]),
        what=f"{series} · {', '.join(targets)} · {what}",
        where=f" in {row['phase']}" if is_failure and not is_missing(row["phase"]) else "",
        reason=" ".join(row["reason"].split()),
        rerun=str(row["rerun"]) if is_failure and not is_missing(row.get("rerun")) else None,
    )
