"""Progress of a run: a live display on a terminal, plain lines elsewhere."""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from harness.problem.case import Case
from harness.reporting.failures import error_in
from harness.reporting.units import beside_limit, interval, is_wide, percent, scaled, time_unit
from harness.results.result import Result
from harness.system.errors import cut
from harness.system.plurals import counted
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
LONGEST_REASON = 100
"""Characters of a reason that stand in a case's line; what is told at the end has all."""


class Observer:
    """Is told what a run does, and says nothing; nothing that it does changes the run."""

    def planned(self, total: int) -> None:
        """So many cases will end, one by one, in `finished` or `kept`."""

    def started(self, case: Case, phase: str) -> None:
        """A case enters a phase: plan, build, check or time."""

    def slow(self, text: str) -> None:
        """A build takes long: of which case, since when, and what its limit is."""

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


def make_observer(plain: bool = False, stream: TextIO | None = None, *, has_report: bool = False) -> Observer:
    """Return a live display when the stream (standard error) is a terminal and `plain` is not asked for.

    With `has_report` a report follows that says why cases failed.
    """
    unfailing = cast(TextIO, Unfailing(stream or sys.stderr))
    if plain or not unfailing.isatty():
        return PlainObserver(unfailing, has_report=has_report)
    return LiveObserver(unfailing, has_report=has_report)


class _Reasons:
    """Why cases did not pass: told once each, after a run that no report follows or that did not end."""

    def __init__(self, *, has_report: bool) -> None:
        self._has_report = has_report
        self._left = 0
        self._cases: dict[tuple[str | None, str], list[tuple[Case, Result]]] = {}

    def planned(self, total: int) -> None:
        self._left = total

    def kept(self) -> None:
        self._left -= 1

    def finished(self, case: Case, result: Result) -> None:
        self._left -= 1
        if result.reason:
            self._cases.setdefault((result.phase, error_in(result.reason)), []).append((case, result))

    def lines(self) -> Iterator[str]:
        """Yield what nothing else tells, with the command that repeats the first case of each reason."""
        for cases in self._cases.values() if self._left or not self._has_report else ():
            case, result = cases[0]
            others = f" and {counted(len(cases) - 1, 'more case')}" if cases[1:] else ""
            yield f"{result.status}  {case.describe()}{others}"
            yield f"    {result.phase}: {result.reason}"
            if result.rerun:
                yield f"    rerun: {result.rerun}"


class PlainObserver(Observer):
    """One line for each case that ends; no control characters."""

    def __init__(self, stream: TextIO, *, has_report: bool = False) -> None:
        """Write to `stream`; for `has_report` see `make_observer`."""
        self._stream = stream
        self._reasons = _Reasons(has_report=has_report)
        self._total = 0
        self._ended = 0

    def planned(self, total: int) -> None:
        """Remember the total, for the lines."""
        self._total = total
        self._reasons.planned(total)
        self._write(f"{total} case{'' if total == 1 else 's'}")

    def slow(self, text: str) -> None:
        """Write the text; a live display shows the case at hand anyway."""
        self._write(text)

    def finished(self, case: Case, result: Result) -> None:
        """Write the case's line."""
        self._ended += 1
        self._reasons.finished(case, result)
        self._write(f"{self._index()} {result_line(case, result)}")

    def kept(self, case: Case, result: Result) -> None:
        """Write the case's line, marked as kept."""
        self._ended += 1
        self._reasons.kept()
        self._write(f"{self._index()} {result_line(case, result)}  (kept)")

    def message(self, text: str) -> None:
        """Write the text."""
        self._write(text)

    def done(self) -> None:
        """Write why cases did not pass."""
        for line in self._reasons.lines():
            self._write(line)

    def _index(self) -> str:
        return f"[{self._ended:{len(str(self._total))}}/{self._total}]"

    def _write(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


class LiveObserver(Observer):
    """A line for each case that ends, and a bar with the time that remains, counts and the case at hand."""

    def __init__(self, stream: TextIO, width: int | None = None, *, has_report: bool = False) -> None:
        """Draw on a terminal, of this width if it does not say its own; see `make_observer`."""
        self._reasons = _Reasons(has_report=has_report)
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
        self._reasons.planned(total)
        self._progress.update(self._task, total=total)
        self._progress.start()

    def started(self, case: Case, phase: str) -> None:
        """Show the case at hand."""
        self._describe(f"{phase}: {case.describe()}")

    def finished(self, case: Case, result: Result) -> None:
        """Advance; the case's line stays on the screen above the bar."""
        self._reasons.finished(case, result)
        self._advance(result)
        console = self._progress.console
        colour = COLOURS.get(result.status, FAILURE_COLOUR)
        status = f"{result.status:{STATUS_WIDTH}}"
        line = Text(printable(result_line(case, result)))
        line.stylize(colour, 0, len(status))
        console.print(line, highlight=False, soft_wrap=True)

    def kept(self, case: Case, result: Result) -> None:
        """Count it."""
        self._reasons.kept()
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
        """Remove the bar; write why cases did not pass."""
        self._progress.stop()
        for line in self._reasons.lines():
            self._progress.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

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
    """Return a case's outcome on one line: status, case, error over tolerance, time, throughput, speed-up.

    One without a result, or a time, says where it ended and shortly why.
    """
    words = [f"{result.status:{STATUS_WIDTH}}", case.describe()]
    if result.error_ratio is not None:
        words.append(f"error/tolerance {beside_limit(result.error_ratio)}")
    if result.time_s is not None:
        unit = time_unit([result.time_s])
        words.append(f"{scaled(result.time_s, unit.factor)} {unit.symbol}")
    if result.tflops is not None:
        words.append(f"{result.tflops * 1e3:.3g} GFLOP/s")
    if result.fraction_of_peak is not None:
        bounds = interval(result.fraction_of_peak_low, result.fraction_of_peak_high, 100.0)
        words.append(f"{percent(result.fraction_of_peak)} % of {result.peak_unit or 'peak'} {bounds}")
    if result.speedup is not None and result.baseline_case != result.case:
        bounds = interval(result.speedup_low, result.speedup_high)
        words.append(f"{scaled(result.speedup, 1.0)}× {result.baseline} {bounds}")
    if result.busy:
        words.append("busy machine")
    if is_wide(result.time_s, result.time_low_s, result.time_high_s):
        words.append("wide interval, budget_s is too small")
    if result.reason and result.status is not Status.EMULATED:
        words.append(f"{result.phase}: {cut(' '.join(error_in(result.reason).split()), LONGEST_REASON)}")
    return "  ".join(words)
