"""What a target can do at most: peaks of units, sampled beside the candidates, and bandwidths."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.bench.running.peak_sampling import sample_bandwidths, sample_flops
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Answer, Request
from harness.problem.case import Case
from harness.results.manifest import unmeasured_line
from harness.results.run_folder import RunFolder

Measured = Literal["peak", "bandwidths"]
"""What a target measures of what it can do at most."""


def unit_of(case: Case, artifact: Artifact | None = None) -> str:
    """Return the unit whose peak a case is compared with, see `Target.peak_unit`.

    Where the target's code cannot say it, it is the problem's type: its sample says what is wrong.
    """
    unit: str = case.problem.dtype
    with contextlib.suppress(Exception):  # a plugin's own code
        unit = plugins.target(case.target).peak_unit(case, artifact)
    return str(unit)


def machine_name(case: Case) -> str:
    """Return by which name what a case runs on is known in a run, `cpu threads=2`."""
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return " ".join([case.target, *options])


class Peaks:
    """A worker that samples what the target of a case can do, with its options, while its candidates rest."""

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
        """Of what the worker samples."""
        self._is_warming_up = False
        """Whether the worker takes a first sample, which does not count, while others work."""
        self._unknown: set[tuple[str, Measured]] = set()
        """What nothing measures, or has failed, and is not asked for again."""
        self._unmeasured: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._bandwidths: dict[str, Mapping[str, float]] = {}

    def save(self) -> None:
        """Write bandwidths, and why something could not be measured, to the run's manifest."""
        if self._bandwidths or self._unmeasured:
            self._folder.record_bandwidths(self._bandwidths, self._unmeasured)

    def bandwidths(self, case: Case) -> Mapping[str, float]:
        """Return the measured bandwidths of what a case runs on, in bytes/s by level of memory."""
        return self._bandwidths.get(machine_name(case), {})

    def begin(self, case: Case, unit: str, threads: int) -> None:
        """Start the worker that samples a unit of what a case runs on, unless it is that of the last one."""
        is_that_of_the_last = self._case is not None and machine_name(self._case) == machine_name(case)
        if is_that_of_the_last or not self._is_asked:
            return
        self.close()
        self._case, self._worker = case, WorkerProcess(threads=threads)
        self._is_warming_up = (self._name(unit), "peak") not in self._unknown
        if self._is_warming_up:
            self._worker.send_early(partial(sample_flops, case=case, unit=unit), self._timeout_s)

    @property
    def pids(self) -> list[int]:
        """The processes that measure."""
        return [] if self._worker is None else [self._worker.pid]

    def sample(self, unit: str, processor: int | None = None) -> float | None:
        """Return a short sample of a unit's peak in FLOP/s, None where nothing measures it."""
        if self._case is None:
            return None
        request = partial(sample_flops, case=self._case, unit=unit, processor=processor)
        return self._measured("peak", self._name(unit), request)

    def measure_bandwidths(self) -> None:
        """Measure the bandwidths of what the worker samples, once, where somebody wants them."""
        if self._case is None or not self._with_bandwidths:
            return
        name = machine_name(self._case)
        found = self._measured("bandwidths", name, partial(sample_bandwidths, case=self._case))
        if found:
            self._bandwidths[name] = found
        self._unknown.add((name, "bandwidths"))

    def _name(self, unit: str) -> str:
        return unit if self._case is None else f"{unit} on {machine_name(self._case)}"

    def _measured(self, what: Measured, name: str, request: Request[Answer]) -> Answer | None:
        """Return what the worker measures; None where nothing does, or where it fails, which is told once."""
        if self._worker is None or (name, what) in self._unknown:
            return None
        if self._is_warming_up:
            self._is_warming_up = False
            with contextlib.suppress(WorkerFailure):  # the next one says it
                self._worker.receive()
        try:
            answer = self._worker.request(request, self._timeout_s)
        except WorkerFailure as failure:
            answer, self._unmeasured[name][what] = None, failure.reason
            self._tell(unmeasured_line(what, name, failure.reason))
        if answer is None:
            self._unknown.add((name, what))
        return answer

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = self._case = None
