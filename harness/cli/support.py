"""What `harness support` prints: tables of forms and variants, one for targets that are alike."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import typer

from harness.bench.building.support import Support
from harness.cli.runs import report_run
from harness.reporting.tables import markdown_rows
from harness.results.output_folder import ensure_writable_folder
from harness.system.printable import markdown_text, printable
from harness.system.status import checked_line
from harness.system.storage.streams import tell

LEGEND = "yes: it is built.  no: for the reason of that number.  –: no problem of this form fits the variant."


def lines(answers: Sequence[Support]) -> Iterator[str]:
    """Yield lines of Markdown: for each group of targets with the same answers a table and the reasons."""
    yield LEGEND
    alike: dict[tuple[Support, ...], list[str]] = {}
    for target, group in groupby(answers, key=lambda answer: answer.target):
        content = tuple(replace(answer, target="") for answer in group)
        alike.setdefault(content, []).append(target)
    for content, targets in alike.items():
        yield from ("", f"## {', '.join(targets)}", "", *_table(content))


def check_support(answers: Sequence[Support], out: Path, jobs: int | None, *, plain: bool) -> None:
    """Build and check what variants say they have for targets; exits with 1 if one failed."""
    from harness.bench.running.form_check import check_forms, form_cases
    from harness.bench.running.progress import make_observer
    from harness.system.machine.cores import available_cores

    ensure_writable_folder(out)
    for fault in dict.fromkeys(f"{answer.reason}" for answer in answers if answer.is_faulty):
        tell(printable(f"harness: not checked: {fault}"))
    summary = check_forms(
        form_cases(answers),
        out=out,
        observer=make_observer(plain, has_report=True),
        command=sys.argv,
        jobs=jobs or available_cores(),
    )
    report_run(summary)
    statuses = [result.status for result in summary.results]
    typer.echo(checked_line(statuses))
    if any(not status.is_checked for status in statuses):
        raise typer.Exit(1)


def _table(content: Sequence[Support]) -> Iterator[str]:
    refusals = [answer.reason for answer in content if answer.reason and not answer.is_contradiction]
    reasons = list(dict.fromkeys(refusals))
    variants = list(dict.fromkeys(answer.variant for answer in content))
    rows = [
        [form, *(_cell(answer, reasons) for answer in group)]
        for form, group in groupby(content, key=lambda answer: answer.form)
    ]
    yield from markdown_rows(["form", *variants], rows, [False] * (len(variants) + 1)).splitlines()
    if reasons:
        yield ""
    for number, reason in enumerate(reasons, start=1):
        yield f"{number}. {markdown_text(reason)}"


def _cell(answer: Support, reasons: Sequence[str]) -> str:
    if answer.is_contradiction:
        return "–"
    if answer.reason is None:
        return "yes"
    return f"{'faulty' if answer.is_faulty else 'no'}, {reasons.index(answer.reason) + 1}"
