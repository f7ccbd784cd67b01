"""What became of a case, in the words that JUnit, pytest and a job's summary share."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.experiment.shipped import SHIPPED, word_for
from harness.problem.case import Case
from harness.results.result import Result
from harness.system.status import Status


def item_name(case: Case) -> str:
    """Return a case's name as a test, `flash:cpu-b1-h8-s256-d64-f32-causal-threads=2`."""
    _, *words = case.describe().replace("×", "x").split(" · ")
    return f"{case.variant}:{'-'.join(' '.join(words).split())}"


def item_file(file: Path, root: Path) -> str:
    """Return what reports of tests call an experiment's file: its path from the root, if it lies there.

    One that ships has its bare name elsewhere.
    """
    if file.is_relative_to(root):
        return file.relative_to(root).as_posix()
    return word_for(file) if file.parent == SHIPPED else file.as_posix()


def reason_of(row: Result) -> str:
    """Return a row's reason, or what to say of one that has none."""
    if row.reason:
        return row.reason
    if row.status is Status.BUILT:
        return "built; there is nothing here to run it on"
    return row.status.value


def headline(row: Result) -> str:
    """Return status, phase and reason on one line, `wrong in check: error 0.5, tolerance 0.01, …`."""
    where = f" in {row.phase}" if row.phase else ""
    return f"{row.status.value}{where}: {next(iter(reason_of(row).splitlines()), '')}"


def is_skipped(row: Result) -> bool:
    """Whether nothing was checked, and that is no failure: the case is unsupported, or was only built."""
    return not row.status.is_failure and not row.status.is_checked


def broken_promise(row: Result, supported: Collection[str]) -> str | None:
    """Return what to say of an unsupported case of a variant that the experiment says is supported."""
    if row.status is not Status.UNSUPPORTED or row.variant not in supported:
        return None
    return f"unsupported, but check.supported lists {row.variant}: {row.reason}"


@dataclass(frozen=True)
class Demands:
    """What a check asks of an experiment's cases, besides that none fails."""

    supported: Collection[str] = ()
    """Variants of which no case may be unsupported: the experiment's `check.supported`."""
    is_strict: bool = False


def failure_of(row: Result, demands: Demands) -> str | None:
    """Return in one line why a row fails a check, None where it does not."""
    if row.status.is_failure:
        return headline(row)
    if demands.is_strict and not row.status.is_checked:
        return broken_promise(row, demands.supported) or f"not checked: {headline(row)}"
    return broken_promise(row, demands.supported)
