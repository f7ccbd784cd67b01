"""The measured peaks of a run's targets, sampled in every start beside the candidates."""

import contextlib
from collections.abc import Callable, Iterable, Mapping

from harness.measure.rounds import PeakSample
from harness.problem.case import Case
from harness.results.manifest import unmeasured_line
from harness.results.row_maker import MeasuredPeak
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round
from harness.running.outdated_peaks import same_since
from harness.running.peak_names import name_peak
from harness.running.peak_sampling import PeakRequest
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import Measured, PeakMeasured


class Peaks:
    """The best that was measured of each peak so far, over all rounds of the run.

    A peak is what a machine can do when nothing disturbs it: the best of many short samples.  They are taken
    between the candidates' times, so that one busy moment, or one slow clock, spoils neither.
    A peak that was never sampled in a quiet round is known by its load; the next rounds sample it again.
    """

    def __init__(
        self,
        folder: RunFolder,
        timeout_s: float,
        tell: Callable[[str], None] = lambda text: None,
        *,
        with_bandwidths: bool = False,
    ) -> None:
        """Take the peaks that the run measured before it was interrupted from its manifest and its rounds.

        `tell` hears of what cannot be measured, once of each.  Bandwidths are measured once, if anybody wants
        them.
        """
        self._with_bandwidths = with_bandwidths
        self._folder = folder
        self._timeout_s = timeout_s
        self._tell = tell
        self._unknown: set[str] = set()
        self._sampler: PeakSampler | None = None
        manifest = folder.manifest
        self._unmeasured = {name: dict(told) for name, told in manifest.unmeasured.items()}
        self._peaks = {
            name: MeasuredPeak(
                manifest.peaks.get(name),
                manifest.peak_loads.get(name, 0.0),
                manifest.bandwidths.get(name, {}),
            )
            for name in {**manifest.peaks, **manifest.bandwidths}
        }

    def note(self, taken: Round) -> None:
        """Take the samples of a round into account."""
        for name in {**taken.peak_flops, **taken.bandwidths}:
            self._note(name, taken)

    def _note(self, name: str, taken: Round) -> None:
        sampled = MeasuredPeak(taken.peak_flops.get(name), taken.load, taken.bandwidths.get(name, {}))
        known = self._peaks.get(name)
        self._peaks[name] = sampled if known is None else _better(known, sampled)

    def note_earlier(self, rounds: Iterable[Round]) -> None:
        """Note the rounds of earlier parts of the run, but for peaks of other code or devices."""
        since: dict[str, str] = {}
        for taken in rounds:
            for name in {**taken.peak_flops, **taken.bandwidths}:
                if name not in since:
                    since[name] = same_since(self._folder.manifest, name)
                if taken.at >= since[name]:
                    self._note(name, taken)

    def note_fault(self, name: str, what: Measured, reason: str) -> None:
        """Take into account that a peak, or its bandwidths, could not be measured."""
        told = self._unmeasured.setdefault(name, {})
        if what in told:
            return
        told[what] = reason
        peak = self._peaks.get(name)
        found = None if peak is None else peak.flops if what == "peak" else peak.bandwidths
        self._tell(unmeasured_line(what, name, reason, is_known=bool(found)))

    def save(self) -> None:
        """Write all peaks, and why there are others that could not be measured, to the run's manifest."""
        if self._peaks or self._unmeasured:
            flops = {name: peak.flops for name, peak in self._peaks.items() if peak.flops is not None}
            self._folder.record_peaks(
                flops,
                {name: self._peaks[name].load for name in flops},
                {name: peak.bandwidths for name, peak in self._peaks.items()},
                self._unmeasured,
            )

    def of(self, case: Case) -> MeasuredPeak | None:
        """Return the peak that a case is compared with; None if nothing measures it, or its target fails."""
        named = name_peak(case)
        if named.fault is not None:
            self.note_fault(named.name, "peak", named.fault)
            return None
        return self._peaks.get(named.name)

    def sampler(self, case: Case, threads: int) -> "PeakSampler":
        """Return what samples the peak of a case: the last one, if that samples the same."""
        name = name_peak(case).name
        if self._sampler is not None and (self._sampler.name, self._sampler.threads) == (name, threads):
            return self._sampler
        self.close()
        known = self._peaks.get(name)
        self._sampler = PeakSampler(
            case,
            threads,
            self._timeout_s,
            self._unknown,
            self.note_fault,
            with_bandwidths=self._with_bandwidths and not (known and known.bandwidths),
        )
        return self._sampler

    def close(self) -> None:
        """End the worker of the last sampler."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None


class PeakSampler:
    """Samples one peak, in a worker of its own."""

    def __init__(
        self,
        case: Case,
        threads: int,
        timeout_s: float,
        unknown: set[str],
        on_fault: Callable[[str, Measured, str], None],
        *,
        with_bandwidths: bool = False,
    ) -> None:
        """Start a worker, unless the peak is among the `unknown` ones.

        To these it is added where nothing measures it, where the worker fails as a whole, and where its
        target cannot say which one it is.  `on_fault` hears of what fails, by the peak's name.  The first
        sample is of the bandwidths, too, `with_bandwidths`.
        """
        named = name_peak(case)
        self.name = named.name
        self.threads = threads
        if named.fault is not None:
            on_fault(named.name, "peak", named.fault)
            unknown.add(named.name)
        self._request = PeakRequest(
            target=case.target,
            dtype=case.problem.dtype,
            target_options=case.target_options,
            bandwidths=with_bandwidths,
        )
        self._timeout_s = timeout_s
        self._unknown = unknown
        self._on_fault = on_fault
        self._worker: WorkerProcess | None = None
        self._is_warming_up = self.name not in unknown
        """Whether the worker takes a first sample, which does not count, while others work."""
        if self._is_warming_up:
            self._worker = WorkerProcess(threads=threads)
            self._worker.send_early(self._request.model_copy(update={"bandwidths": False}), timeout_s)

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
            measured = self._worker.request(request, self._timeout_s)
        except WorkerFailure as failure:
            self._on_fault(self.name, "peak", failure.reason)
            measured = PeakMeasured(flops=None)
        for what, reason in measured.faults.items():
            self._on_fault(self.name, what, reason)
        if measured.flops is None and not measured.bandwidths and not measured.faults:
            self._unknown.add(self.name)
            self.close()
        return PeakSample(measured.flops, measured.bandwidths)

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _better(known: MeasuredPeak, sampled: MeasuredPeak) -> MeasuredPeak:
    """Return the best of what is known and what one more sample has measured; either may lack the peak."""
    bandwidths = _larger(known.bandwidths, sampled.bandwidths)
    if known.flops is None or sampled.flops is None:
        with_peak = sampled if known.flops is None else known
        return MeasuredPeak(with_peak.flops, with_peak.load, bandwidths)
    return MeasuredPeak(max(known.flops, sampled.flops), min(known.load, sampled.load), bandwidths)


def _larger(known: Mapping[str, float], sampled: Mapping[str, float]) -> dict[str, float]:
    """Return the larger of two values for each level of memory."""
    levels = dict.fromkeys((*known, *sampled))
    return {level: max(known.get(level, 0.0), sampled.get(level, 0.0)) for level in levels}
