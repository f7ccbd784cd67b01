"""The measured peaks of a run's targets: once for each target, dtype and set of target options."""

from harness.problem.case import Case
from harness.results.run_folder import RunFolder
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import PeakMeasured, PeakRequest


class Peaks:
    """Measures peaks when they are first asked for, and keeps them in the run's manifest."""

    def __init__(self, folder: RunFolder, timeout_s: float) -> None:
        """Take the peaks that the run measured before it was interrupted from its manifest."""
        self._folder = folder
        self._timeout_s = timeout_s
        self._peaks: dict[str, float | None] = dict(folder.manifest.peaks)

    def peak_flops(self, case: Case, threads: int) -> float | None:
        """Return the peak in FLOP/s of a case's target with its dtype and options; None if unknown."""
        name = peak_name(case)
        if name not in self._peaks:
            self._peaks[name] = peak = self._measure(case, threads)
            if peak is not None:
                self._folder.record_peaks({name: peak})
        return self._peaks[name]

    def _measure(self, case: Case, threads: int) -> float | None:
        request = PeakRequest(
            target=case.target, dtype=case.problem.dtype, target_options=case.target_options
        )
        with WorkerProcess(threads=threads) as worker:
            try:
                return worker.request(request, self._timeout_s, PeakMeasured).flops
            except WorkerFailure:
                return None


def peak_name(case: Case) -> str:
    """Return the name of a peak in the manifest, `cpu f32 threads=2`."""
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return " ".join([case.target, case.problem.dtype, *options])
