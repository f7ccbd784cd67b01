"""The measured peaks of a run's targets, sampled in every round beside the candidates."""

import itertools
from collections.abc import Mapping
from contextlib import ExitStack

from harness import plugins
from harness.measure.rounds import PeakSample
from harness.problem.case import Case
from harness.results.row_maker import MeasuredPeak
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import PeakMeasured, PeakRequest


class Peaks:
    """The best that was measured of each peak so far, over all rounds of the run.

    A peak is what a machine can do when nothing disturbs it: the best of many short samples.  They are taken
    in the same rounds as the candidates' times, so that one busy moment, or one slow clock, spoils neither.
    A peak that was never sampled in a quiet round is known by its load; the next rounds sample it again.
    """

    def __init__(self, folder: RunFolder, timeout_s: float) -> None:
        """Take the peaks that the run measured before it was interrupted from its manifest and its rounds."""
        self._folder = folder
        self._timeout_s = timeout_s
        self._unknown: set[str] = set()
        manifest = folder.manifest
        self._peaks = {
            name: MeasuredPeak(flops, manifest.peak_loads.get(name, 0.0), manifest.bandwidths.get(name, {}))
            for name, flops in manifest.peaks.items()
        }

    def note(self, taken: Round) -> None:
        """Take the samples of a round into account."""
        for name, flops in taken.peak_flops.items():
            bandwidths = taken.bandwidths.get(name, {})
            known = self._peaks.get(name)
            better = MeasuredPeak(flops, taken.load, bandwidths)
            if known is not None:
                better = MeasuredPeak(
                    flops=max(known.flops, flops),
                    load=min(known.load, taken.load),
                    bandwidths=_larger(known.bandwidths, bandwidths),
                )
            self._peaks[name] = better

    def save(self) -> None:
        """Write all peaks to the run's manifest."""
        if self._peaks:
            self._folder.record_peaks(
                {name: peak.flops for name, peak in self._peaks.items()},
                {name: peak.load for name, peak in self._peaks.items()},
                {name: peak.bandwidths for name, peak in self._peaks.items()},
            )

    def of(self, case: Case) -> MeasuredPeak | None:
        """Return the peak that a case is compared with; None if nothing measures it."""
        return self._peaks.get(peak_name(case))

    def sampler(self, case: Case, threads: int, stack: ExitStack) -> "PeakSampler":
        """Return what samples the peak of a case; its worker lives as long as the stack."""
        return PeakSampler(case, threads, stack, self._timeout_s, self._unknown)


class PeakSampler:
    """Samples one peak, in a worker of its own."""

    def __init__(
        self, case: Case, threads: int, stack: ExitStack, timeout_s: float, unknown: set[str]
    ) -> None:
        """Start a worker, unless the peak is among the `unknown` ones, to which a failure adds it."""
        self.name = peak_name(case)
        self._request = PeakRequest(
            target=case.target, dtype=case.problem.dtype, target_options=case.target_options
        )
        self._numbers = itertools.count()
        self._timeout_s = timeout_s
        self._unknown = unknown
        self._worker: WorkerProcess | None = None
        if self.name not in unknown:
            self._worker = stack.enter_context(WorkerProcess(threads=threads))

    @property
    def pids(self) -> list[int]:
        """The processes that measure."""
        return [] if self._worker is None else [self._worker.pid]

    def sample(self) -> PeakSample:
        """Return a short sample, an empty one where nothing measures the peak."""
        if self._worker is None:
            return PeakSample()
        request = self._request.model_copy(update={"number": next(self._numbers)})
        try:
            measured = self._worker.request(request, self._timeout_s, PeakMeasured)
        except WorkerFailure:
            measured = PeakMeasured(flops=None)
        if measured.flops is None:
            self._unknown.add(self.name)
            self.close()
        return PeakSample(measured.flops, measured.bandwidths)

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _larger(known: Mapping[str, float], sampled: Mapping[str, float]) -> dict[str, float]:
    """Return the larger of two values for each level of memory."""
    levels = dict.fromkeys((*known, *sampled))
    return {level: max(known.get(level, 0.0), sampled.get(level, 0.0)) for level in levels}


def peak_name(case: Case) -> str:
    """Return the name of a peak in the manifest, `cpu f32 threads=2`.

    Types that a target computes in the same way share a peak.
    """
    target = plugins.target(case.target)
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return " ".join([case.target, target.peak_dtype(case.problem.dtype), *options])
