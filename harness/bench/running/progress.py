"""Progress of a run: a live display on a terminal, plain lines elsewhere."""

import math
import sys
from collections import Counter
from collections.abc import Mapping
from typing import TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from harness.problem.case import Case
from harness.reporting.units import beside_limit, interval, is_wide, scaled, time_unit
from harness.results.result import Result
from harness.system.printable import printable
from harness.system.status import Status
from harness.system.storage.streams import Unfailing

COLOURS = {
    Status.PASSED: "green",
    Status.EMULATED: "green",
    Status.BUILT: "cyan",
    Status.UNSUPPORTED: "yellow",
}
FAILURE_COLOUR = "red"
STATUS_WIDTH = 13
BAR = 8


class Observer:
    """Is told what a run does, and says nothing; nothing that it does changes the run."""

    def planned(self, total: int) -> None:
        """So many cases will end, one by one, in `finished` or `kept`."""

    def started(self, case: Case, phase: str) -> None:
        """A case enters a phase: plan, build, check or time."""

    def finished(self, case: Case, result: Result) -> None:
        """A case's row is final."""

    def kept(self, case: Case, result: Result) -> None:
        """A resumed run keeps a case's earlier row."""

    def round(self, group: str, number: int, widths: Mapping[str, float]) -> None:
        """A timing round of a problem has ended; `widths` are the relative widths of the intervals so far."""

    def message(self, text: str) -> None:
        """Something that a person should know."""

    def done(self) -> None:
        """The run has ended, or was interrupted: give the terminal back."""


def make_observer(plain: bool = False, stream: TextIO | None = None) -> Observer:
    """Return a live display when the stream (standard error) is a terminal and `plain` is not asked for."""
    unfailing = cast(TextIO, Unfailing(stream or sys.stderr))
    if plain or not unfailing.isatty():
        return PlainObserver(unfailing)
    return LiveObserver(unfailing)


class PlainObserver(Observer):
    """One line for each case that ends; no control characters."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._total = 0
        self._ended = 0

    def planned(self, total: int) -> None:
        """Remember the total, for the lines."""
        self._total = total
        self._write(f"{total} case{'' if total == 1 else 's'}")

    def finished(self, case: Case, result: Result) -> None:
        """Write the case's line, and the reason and the next step below it."""
        self._ended += 1
        self._write(f"{self._index()} {result_line(case, result)}")
        for line in failure_lines(result):
            self._write(f"{' ' * len(self._index())} {line}")

    def kept(self, case: Case, result: Result) -> None:
        """Write the case's line, marked as kept."""
        self._ended += 1
        self._write(f"{self._index()} {result_line(case, result)}  (kept)")

    def message(self, text: str) -> None:
        """Write the text."""
        self._write(text)

    def _index(self) -> str:
        return f"[{self._ended:{len(str(self._total))}}/{self._total}]"

    def _write(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


class LiveObserver(Observer):
    """A line for each case that ends, and a bar with the time that remains, counts and the case at hand."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        """Draw on a terminal, of this width if it does not say its own."""
        self._counts: Counter[Status] = Counter()
        console = Console(file=stream, width=width, emoji=False)
        self._progress = Progress(
            BarColumn(bar_width=BAR),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            TextColumn("left", table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[counts]}", table_column=Column(no_wrap=True)),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=console,
            transient=True,
            expand=True,
            speed_estimate_period=math.inf,
        )
        self._task = self._progress.add_task("", total=None, counts="")

    def planned(self, total: int) -> None:
        """Start to draw."""
        self._progress.update(self._task, total=total)
        self._progress.start()

    def started(self, case: Case, phase: str) -> None:
        """Show the case at hand."""
        self._describe(f"{phase}: {case.describe()}")

    def finished(self, case: Case, result: Result) -> None:
        """Advance; the case's lines stay on the screen above the bar."""
        self._advance(result)
        console = self._progress.console
        colour = COLOURS.get(result.status, FAILURE_COLOUR)
        status = f"{result.status:{STATUS_WIDTH}}"
        line = Text(printable(result_line(case, result)))
        line.stylize(colour, 0, len(status))
        console.print(line, highlight=False, soft_wrap=True)
        for text in failure_lines(result):
            console.print(f"    {printable(text)}", markup=False, highlight=False, soft_wrap=True)

    def kept(self, case: Case, result: Result) -> None:
        """Count it."""
        self._advance(result)

    def round(self, group: str, number: int, widths: Mapping[str, float]) -> None:
        """Show the round, and the widest interval, which is what the round's end waits for."""
        bounded = [width for width in widths.values() if width != float("inf")]
        widest = f", widest interval {max(bounded):.1%}" if bounded else ""
        self._describe(f"time: {group}, round {number}{widest}")

    def message(self, text: str) -> None:
        """Print above the bar."""
        self._progress.console.print(printable(text), markup=False, highlight=False)

    def done(self) -> None:
        """Remove the bar."""
        self._progress.stop()

    def _describe(self, text: str) -> None:
        self._progress.update(self._task, description=printable(text))

    def _advance(self, result: Result) -> None:
        self._counts[result.status] += 1
        counts = "  ".join(
            f"[{COLOURS.get(status, FAILURE_COLOUR)}]{count} {status}[/]"
            for status, count in self._counts.items()
        )
        self._progress.update(self._task, advance=1, counts=counts)


def result_line(case: Case, result: Result) -> str:
    """Return a case's outcome on one line: status, case, error over tolerance, time, throughput, speed-up."""
    words = [f"{result.status:{STATUS_WIDTH}}", case.describe()]
    if result.error_ratio is not None:
        words.append(f"error/tolerance {beside_limit(result.error_ratio)}")
    if result.time_s is not None:
        unit = time_unit([result.time_s])
        words.append(f"{scaled(result.time_s, unit.factor)} {unit.symbol}")
    if result.tflops is not None:
        words.append(f"{result.tflops * 1e3:.3g} GFLOP/s")
    if result.speedup is not None and result.baseline_case != result.case:
        bounds = interval(result.speedup_low, result.speedup_high)
        words.append(f"{scaled(result.speedup, 1.0)}× {result.baseline} {bounds}")
    if result.busy:
        words.append("busy machine")
    if is_wide(result.time_s, result.time_low_s, result.time_high_s):
        words.append("wide interval, budget_s is too small")
    return "  ".join(words)


def failure_lines(result: Result) -> list[str]:
    """Return the phase and the reason of a case that did not pass, and the command that repeats it."""
    lines = []
    if result.reason:
        lines.append(f"{result.phase}: {result.reason}")
    if result.rerun:
        lines.append(f"rerun: {result.rerun}")
    return lines
