"""What `harness ir --time` prints: cycles of each part of a kernel, beside what they could be."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Life
from harness.codegen.bounds.part_times import PartTime, PartTimes
from harness.system.errors import HarnessError, InputError, UnsupportedError
from harness.system.status import Status

if TYPE_CHECKING:
    from harness.api import BuiltArtifact

LIMIT_S = 300.0
WIDTH = 22
DISTURBED = (
    "Stamps disturb: less is done ahead across parts. Cycles are of the counter, which need not be the\n"
    "processor's clock, of the shortest call, on one thread; short parts are the least exact."
)


def part_times_request(life: Life, artifact: Artifact, folder: Path) -> PartTimes:
    """Run a stamped build of an artifact, in a worker."""
    case = artifact.case
    with tempfile.TemporaryDirectory() as empty:
        return plugins.target(case.target).part_times(artifact, folder, Path(empty))


def part_times_text(built: "BuiltArtifact", *, other_options: bool = False) -> str:
    """Return the parts of a build's kernels with their cycles, a line each.

    Raises `InputError`, `UnsupportedError` where a target or variant has no stamps, and `HarnessError`.
    """
    if other_options:
        raise InputError("--time: expected without --stage, --diff, --counts, --bounds and --out")
    request = partial(part_times_request, artifact=built.artifact, folder=built.folder.absolute())
    with WorkerProcess(threads=1) as worker:
        try:
            times = worker.request(request, LIMIT_S)
        except WorkerFailure as failure:
            kind = UnsupportedError if failure.status is Status.UNSUPPORTED else HarnessError
            raise kind(failure.reason) from failure
    return "\n".join([built.artifact.case.describe(), DISTURBED, *_lines(times)])


def _lines(times: PartTimes) -> Iterator[str]:
    kernel, whole = "", 0.0
    for part in times.parts:
        if part.kernel != kernel:
            kernel, whole, named = part.kernel, part.cycles, 0.0
            yield ""
            yield f"{kernel:<{WIDTH}}{'times':>9}{'cycles each':>13}{'ideal':>9}{'of ideal':>10}{'share':>8}"
            yield _line(part, whole)
            continue
        yield _line(part, whole)
        named += part.cycles
        if part is _last_of(times, kernel):
            rest = max(0.0, whole - named)
            yield f"  {'loops and the rest':<{WIDTH - 2}}{'':>41}{rest / whole:>8.1%}"
    yield ""
    rate, exponential = times.operations_per_cycle, times.operations_of_an_exponential
    yield f"ideal: {rate:.1f} operations on f32 a cycle, as fma-f32 has in turns with the calls."
    if times.unit_rate != 1:
        yield f"{times.unit} makes {times.unit_rate:.1f} products in the time of one such."
    yield f"A multiply-add is one, and each other piece of arithmetic; an exponential is {exponential:.0f}."
    yield "Processors that add beside multiply-adds can be faster."
    yield f"{times.calls} calls; with stamps a call takes {times.overhead:+.1%} more"
    yield f"hardware counters: none, {times.no_counters or 'though the kernel would give some'}"


def _last_of(times: PartTimes, kernel: str) -> PartTime:
    return [part for part in times.parts if part.kernel == kernel][-1]


def _line(part: PartTime, whole: float) -> str:
    each = part.cycles / part.executions if part.executions else 0.0
    ideal = of_ideal = ""
    if part.ideal_cycles and part.executions:
        ideal, of_ideal = (
            f"{part.ideal_cycles / part.executions:.0f}",
            f"{part.ideal_cycles / part.cycles:.0%}",
        )
    share = part.cycles / whole if whole else 0.0
    return f"  {part.name:<{WIDTH - 2}}{part.executions:>9}{each:>13.0f}{ideal:>9}{of_ideal:>10}{share:>8.1%}"
