"""The measured peaks of a part of a run, sampled in every start beside the candidates."""

import contextlib
import math
from collections import defaultdict
from collections.abc import Callable

from harness import plugins
from harness.bench.measure.rounds import PeakSample
from harness.bench.row_maker import MeasuredPeak
from harness.bench.running.peak_sampling import PeakRequest
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Measured, PeakMeasured
from harness.problem.case import Case
from harness.results.manifest import unmeasured_line
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round


def peak_name(case: Case) -> str:
    """Return by which name the peak that a case is compared with is known in a run, `cpu f32 threads=2`.

    Types that a target computes in the same way share a peak.  Where the target's code cannot say the type,
    the name has the problem's: its sample says what is wrong.
    """
    dtype: str = case.problem.dtype
    with contextlib.suppress(Exception):  # a plugin's own code
        dtype = plugins.target(case.target).peak_dtype(dtype)
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return " ".join([case.target, str(dtype), *options])


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
    ) -> None:
        """`tell` hears of what cannot be measured, once of each.

        Bandwidths are measured once, if anybody wants them.
        """
        self.timeout_s = timeout_s
        self._with_bandwidths = with_bandwidths
        self._folder = folder
        self._tell = tell
        self.unknown: set[str] = set()
        """Peaks that nothing measures, or whose worker has failed."""
        self._sampler: PeakSampler | None = None
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

    def note_fault(self, name: str, what: Measured, reason: str) -> None:
        """Take into account that a peak, or its bandwidths, could not be measured."""
        if what not in self._unmeasured[name]:
            self._unmeasured[name][what] = reason
            is_known = name in (self._flops if what == "peak" else self._bandwidths)
            self._tell(unmeasured_line(what, name, reason, is_known=is_known))

    def save(self) -> None:
        """Write all peaks, and why there are others that could not be measured, to the run's manifest."""
        if self._flops or self._bandwidths or self._unmeasured:
            self._folder.record_peaks(self._flops, self._loads, self._bandwidths, self._unmeasured)

    def of(self, case: Case) -> MeasuredPeak | None:
        """Return the peak that a case is compared with; None if this part has not measured it."""
        name = peak_name(case)
        if name not in self._flops and name not in self._bandwidths:
            return None
        return MeasuredPeak(self._flops.get(name), self._loads.get(name, 0.0), self._bandwidths.get(name, {}))

    def sampler(self, case: Case, threads: int) -> "PeakSampler":
        """Return what samples the peak of a case: the last one, if that samples the same."""
        name = peak_name(case)
        if self._sampler is not None and (self._sampler.name, self._sampler.threads) == (name, threads):
            return self._sampler
        self.close()
        with_bandwidths = self._with_bandwidths and name not in self._bandwidths
        self._sampler = PeakSampler(self, case, threads, with_bandwidths=with_bandwidths)
        return self._sampler

    def close(self) -> None:
        """End the worker of the last sampler."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None


class PeakSampler:
    """Samples one peak, in a worker of its own."""

    def __init__(self, peaks: Peaks, case: Case, threads: int, *, with_bandwidths: bool = False) -> None:
        """Start a worker, unless the peak is an unknown one.

        The first sample is of the bandwidths, too, `with_bandwidths`.
        """
        self.name = peak_name(case)
        self.threads = threads
        self._peaks = peaks
        self._request = PeakRequest(
            target=case.target,
            dtype=case.problem.dtype,
            target_options=case.target_options,
            bandwidths=with_bandwidths,
        )
        self._worker: WorkerProcess | None = None
        self._is_warming_up = self.name not in peaks.unknown
        """Whether the worker takes a first sample, which does not count, while others work."""
        if self._is_warming_up:
            self._worker = WorkerProcess(threads=threads)
            self._worker.send_early(self._request.model_copy(update={"bandwidths": False}), peaks.timeout_s)

    @property
    def pids(self) -> list[int]:
        """The processes that measure."""
        return [] if self._worker is None else [self._worker.pid]

    def sample(self) -> PeakSample:
        """Return a short sample, an empty one where nothing measures the peak."""
        if self._worker is None:
            return PeakSample()
        if self._is_warming_up:
            self._is_warming_up = False
            with contextlib.suppress(WorkerFailure):  # the next one says it
                self._worker.receive()
        request = self._request
        self._request = request.model_copy(update={"bandwidths": False})
        try:
            measured = self._worker.request(request, self._peaks.timeout_s)
        except WorkerFailure as failure:
            self._peaks.note_fault(self.name, "peak", failure.reason)
            measured = PeakMeasured(flops=None)
        for what, reason in measured.faults.items():
            self._peaks.note_fault(self.name, what, reason)
        if measured.flops is None and not measured.bandwidths and not measured.faults:
            self._peaks.unknown.add(self.name)
            self.close()
        return PeakSample(measured.flops, measured.bandwidths)

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
