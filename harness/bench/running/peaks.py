"""The measured peaks of a part of a run, sampled in every start beside the candidates."""

import contextlib
import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Literal

from harness import plugins
from harness.bench.measure.rounds import PeakSample
from harness.bench.row_maker import MeasuredPeak
from harness.bench.running.peak_sampling import sample_bandwidths, sample_flops
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Answer, Request
from harness.problem.case import Case
from harness.results.manifest import unmeasured_line
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round

Measured = Literal["peak", "bandwidths"]
"""What a target measures of what it can do at most."""


def peak_dtype(case: Case) -> str:
    """Return the type whose peak a case is compared with, see `Target.peak_dtype`.

    Where the target's code cannot say it, it is the problem's: its sample says what is wrong.
    """
    dtype: str = case.problem.dtype
    with contextlib.suppress(Exception):  # a plugin's own code
        dtype = plugins.target(case.target).peak_dtype(dtype)
    return str(dtype)


def peak_name(case: Case) -> str:
    """Return by which name the peak that a case is compared with is known in a run, `cpu f32 threads=2`."""
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return " ".join([case.target, peak_dtype(case), *options])


class Peaks:
    """The best that was measured of each peak so far, over the rounds of this part of the run.

    A peak is what a machine can do when nothing disturbs it: the best of many short samples.  They are taken
    between the candidates' times, so that one busy moment, or one slow clock, spoils neither.
    """

    def __init__(
        self,
        folder: RunFolder,
        timeout_s: float,
        tell: Callable[[str], None] = lambda text: None,
        *,
        with_bandwidths: bool = False,
        is_asked: bool = True,
    ) -> None:
        """`tell` hears of what cannot be measured, once of each."""
        self._timeout_s = timeout_s
        self._with_bandwidths = with_bandwidths
        self._is_asked = is_asked
        self._folder = folder
        self._tell = tell
        self._worker: WorkerProcess | None = None
        self._case: Case | None = None
        """The case whose peak the worker samples."""
        self._is_warming_up = False
        """Whether the worker takes a first sample, which does not count, while others work."""
        self._unknown: set[tuple[str, Measured]] = set()
        """What nothing measures, or has failed, and is not asked for again."""
        self._unmeasured: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._flops: dict[str, float] = {}
        self._loads: dict[str, float] = {}
        """The share of the processors that others used in the quietest round with a sample."""
        self._bandwidths: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def note(self, taken: Round) -> None:
        """Take the samples of a round into account."""
        for name, flops in taken.peak_flops.items():
            self._flops[name] = max(self._flops.get(name, 0.0), flops)
            self._loads[name] = min(self._loads.get(name, math.inf), taken.load)
        for name, bandwidths in taken.bandwidths.items():
            levels = self._bandwidths[name]
            for level, rate in bandwidths.items():
                levels[level] = max(levels.get(level, 0.0), rate)

    def save(self) -> None:
        """Write all peaks, and why there are others that could not be measured, to the run's manifest."""
        if self._flops or self._bandwidths or self._unmeasured:
            self._folder.record_peaks(self._flops, self._loads, self._bandwidths, self._unmeasured)

    def of(self, case: Case) -> MeasuredPeak | None:
        """Return the peak that a case is compared with; None if this part has not measured it."""
        name = peak_name(case)
        if name not in self._flops and name not in self._bandwidths:
            return None
        load, bandwidths = self._loads.get(name, 0.0), self._bandwidths.get(name, {})
        return MeasuredPeak(self._flops.get(name), load, bandwidths, peak_dtype(case))

    def begin(self, case: Case, threads: int) -> None:
        """Start the worker that samples the peak of a case, unless it is that of the last one."""
        is_that_of_the_last = self._case is not None and peak_name(self._case) == peak_name(case)
        if is_that_of_the_last or not self._is_asked:
            return
        self.close()
        self._case, self._worker = case, WorkerProcess(threads=threads)
        self._is_warming_up = (peak_name(case), "peak") not in self._unknown
        if self._is_warming_up:
            self._worker.send_early(partial(sample_flops, case=case), self._timeout_s)

    @property
    def pids(self) -> list[int]:
        """The processes that measure."""
        return [] if self._worker is None else [self._worker.pid]

    def sample(self) -> PeakSample:
        """Return a short sample, an empty one where nothing measures the peak."""
        if self._worker is None or self._case is None:
            return PeakSample()
        if self._is_warming_up:
            self._is_warming_up = False
            with contextlib.suppress(WorkerFailure):  # the next one says it
                self._worker.receive()
        flops = self._measured("peak", partial(sample_flops, case=self._case))
        bandwidths = None
        if self._with_bandwidths:
            bandwidths = self._measured("bandwidths", partial(sample_bandwidths, case=self._case))
            self._unknown.add((peak_name(self._case), "bandwidths"))
        return PeakSample(flops, bandwidths or {})

    def _measured(self, what: Measured, request: Request[Answer]) -> Answer | None:
        """Return what the worker measures; None where nothing does, or where it fails, which is told once."""
        if self._worker is None or self._case is None or (peak_name(self._case), what) in self._unknown:
            return None
        name = peak_name(self._case)
        try:
            answer = self._worker.request(request, self._timeout_s)
        except WorkerFailure as failure:
            answer, self._unmeasured[name][what] = None, failure.reason
            is_known = name in (self._flops if what == "peak" else self._bandwidths)
            self._tell(unmeasured_line(what, name, failure.reason, is_known=is_known))
        if answer is None:
            self._unknown.add((name, what))
        return answer

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = self._case = None
