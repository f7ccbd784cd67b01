"""What `harness ir` prints."""

import difflib
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from harness.artifact.stage_names import stage_called
from harness.codegen.costs.costs import Costs, NotCountable
from harness.ir_view import tables
from harness.ir_view.stage_output import StageOutput
from harness.ir_view.subject import Subject
from harness.results.output_folder import ensure_writable_file
from harness.system.errors import InputError
from harness.system.storage.reading import refusals_told
from harness.system.validation import suggestion

PIPE_WIDTH = 160
"""Columns of tables that are not written to a terminal."""
WIDEST = 1000
"""Columns of a table of exact numbers, which are never cut."""

THEME = "ansi_dark"


def show(
    subject: Subject,
    *,
    stage: str | None = None,
    diff: bool = False,
    counts: bool = False,
    out: Path | None = None,
    console: Console | None = None,
) -> None:
    """Print a table of all stages, or the text of one `stage`; or write what it gives to the file `out`."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = console or Console(width=width, highlight=False, markup=False, emoji=False)
    stages = subject.stages
    if not stages:
        raise InputError(f"{subject.title}: its build keeps no stages")
    chosen = None if stage is None else position_of(stage, stages)
    if out is not None:
        if chosen is None or diff or counts:
            raise InputError("--out: expected with --stage, and without --diff and --counts")
        _write(stages[chosen], out)
        return
    if diff:
        _print_difference(console, stages, chosen)
    if counts:
        _print_counts(console, subject, chosen)
    if diff or counts:
        return
    if chosen is None:
        console.print(subject.title)
        console.print(tables.stage_table(stages))
        if subject.metrics:
            console.print(subject.metrics, markup=False, soft_wrap=True)
        return
    if stages[chosen].text is None:
        size = f"{len(stages[chosen].data):,} bytes"
        console.print(f"{stages[chosen].file}: {size}; --out FILE writes them", soft_wrap=True)
    else:
        print_source(console, stages[chosen])


def position_of(name: str, stages: Sequence[StageOutput]) -> int:
    """Return the number of a stage from 0; raises `InputError` naming the stages that exist."""
    names = [stage.name for stage in stages]
    called = stage_called(name, {stage.name: stage.file for stage in stages})
    if called is None:
        hint = suggestion(name, names)
        raise InputError(f"--stage: found {name!r}{hint}, expected one of {', '.join(names)}")
    return names.index(called)


def _write(stage: StageOutput, out: Path) -> None:
    data = stage.data if stage.text is None else stage.text.encode()
    with refusals_told(f"--out {out}"):
        ensure_writable_file(out, "--out").write_bytes(data)


def print_source(console: Console, stage: StageOutput) -> None:
    """Print a stage's text, in colours on a terminal."""
    from harness.ir_view.highlight import lexer_for

    text = stage.text or ""
    lexer = lexer_for(stage.language) if console.is_terminal else None
    if lexer is None:
        print(text, end="" if text.endswith("\n") else "\n", file=console.file)
    else:
        console.print(Syntax(text, lexer, theme=THEME, background_color="default"), soft_wrap=True)


def difference(previous: StageOutput, stage: StageOutput) -> str:
    """Return a unified diff, after a comment that says which operations came and went."""
    summary = tables.changes(stage.changes_from(previous), limit=None)
    lines = difflib.unified_diff(
        (previous.text or "").splitlines(),
        (stage.text or "").splitlines(),
        previous.name,
        stage.name,
        lineterm="",
    )
    return "\n".join([f"# operations: {summary}", *lines])


def _print_difference(console: Console, stages: Sequence[StageOutput], chosen: int | None) -> None:
    pairs = itertools.pairwise(stages)
    names = ", ".join(after.name for before, after in pairs if after.is_comparable_with(before))
    if chosen is None:
        raise InputError(f"--diff: expected --stage with one of {names}")
    stage = stages[chosen]
    if chosen == 0:
        raise InputError(f"--diff: {stage.name!r} is the first stage; expected one of {names}")
    if not stage.is_comparable_with(stages[chosen - 1]):
        why = (
            "binary" if stage.text is None else f"in another language than {stages[chosen - 1].name!r} before"
        )
        raise InputError(f"--diff: {stage.name!r} is {why}: show it without --diff; expected one of {names}")
    text = difference(stages[chosen - 1], stage)
    if console.is_terminal:
        console.print(Syntax(text, "diff", theme=THEME, background_color="default"), soft_wrap=True)
    else:
        print(text, file=console.file)


def _print_counts(console: Console, subject: Subject, chosen: int | None) -> None:
    stages = subject.stages
    shown = list(stages) if chosen is None else [stages[chosen]]
    costs = {stage.name: _costs_or_reason(stage, subject) for stage in shown}
    console.print(subject.title)
    console.print("executed by one call, all kernels together; FLOP, bytes")
    Console(file=console.file, width=WIDEST).print(tables.cost_table(costs))
    for name, stage_costs in costs.items():
        if isinstance(stage_costs, NotCountable):
            console.print(f"{name} is not countable: {stage_costs}", markup=False)
        elif chosen is not None:
            console.print(tables.memory_table(stage_costs))
    if chosen is not None:
        console.print(f"operations in the text of {stages[chosen].name}")
        console.print(tables.stage_operation_table(stages[chosen]))


def _costs_or_reason(stage: StageOutput, subject: Subject) -> Costs | NotCountable:
    try:
        return subject.costs(stage)
    except NotCountable as reason:
        return reason
