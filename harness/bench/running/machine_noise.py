"""What this machine can resolve: copies of one kernel are timed against it, and ought to be as fast."""

from dataclasses import dataclass

import numpy as np

from harness.bench.running.progress import Observer
from harness.bench.running.runner import run_experiment
from harness.bench.workers.process import scratch_folder
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.results.statistics import Interval
from harness.results.timing_rounds import Round
from harness.system.errors import HarnessError

COPIES = 3
"""Of one kernel, each compared with the original."""
SPREAD = 90.0
"""Per cent of the rounds whose ratios the spread holds."""
LEAST_SECONDS, MOST_SECONDS = 5.0, 3600.0


@dataclass(frozen=True)
class MachineNoise:
    """What timing a kernel against copies of itself gives, where every ratio should be 1."""

    ratios: tuple[Interval, ...]
    """Of each copy, over all rounds, as speed-ups are given."""
    round_low: float
    round_high: float
    """Between these lie the ratios of single rounds, of all copies, but for a few."""
    rounds: int
    starts: int
    load: float
    """Share of the processors that others used meanwhile."""

    @property
    def smallest_difference(self) -> float:
        """The smallest difference worth claiming, as a share: none of the copies looks as different as that.

        It is the distance from 1 to the farthest end of an interval.
        """
        return max(max(1 / ratio.low, ratio.high) - 1 for ratio in self.ratios)


def measure_noise(seconds: float, observer: Observer) -> MachineNoise:
    """Time copies of `flash` against it for that long, as candidates of one group are timed.

    Raises `HarnessError` where they cannot be timed here.
    """
    experiment = _experiment(seconds)
    with scratch_folder() as folder:
        cases = experiment.cases([])
        summary = run_experiment(
            experiment,
            cases,
            out=folder,
            resume=False,
            timed=True,
            observer=observer,
            command=["harness", "doctor", "--noise"],
        )
        rounds = RunFolder.open(summary.folder).rounds()
    return _noise_of(cases, list(summary.results), rounds)


def _noise_of(cases: list[Case], rows: list[Result], rounds: list[Round]) -> MachineNoise:
    failed = next((row for row in rows if row.time_s is None), None)
    if failed is not None:
        raise HarnessError(f"no noise: {failed.variant} was not timed: {failed.reason}")
    original, *copies = rows
    ratios = [
        taken.seconds[original.case][0] / taken.seconds[copy.case][0] for taken in rounds for copy in copies
    ]
    tail = (100 - SPREAD) / 2
    low, high = np.percentile(ratios, [tail, 100 - tail])
    return MachineNoise(
        ratios=tuple(_speedup(copy) for copy in copies),
        round_low=float(low),
        round_high=float(high),
        rounds=len(rounds),
        starts=original.starts or 1,
        load=original.load or 0.0,
    )


def _speedup(row: Result) -> Interval:
    if row.speedup is None or row.speedup_low is None or row.speedup_high is None:
        raise HarnessError("no noise: too few rounds for an interval; expected more seconds")
    return Interval(row.speedup, row.speedup_low, row.speedup_high)


def _experiment(seconds: float) -> Experiment:
    """Return the kernel with its copies; the time is spent whatever the intervals are."""
    return Experiment.model_validate(
        {
            "name": "noise",
            "question": "How much do copies of one kernel differ here?",
            "variants": ["flash", "twin"],
            "targets": ["cpu"],
            "baseline": "flash",
            "problem": {"seq": 256, "heads": 2, "head_dim": 64, "dtype": "f32"},
            "target": {"cpu": {"threads": 1}},
            "variant": {"twin": {"number": list(range(1, COPIES + 1))}},
            "check": {"distributions": ["normal"]},
            "timing": {"interval": 1e-6, "budget_s": seconds, "starts": 6, "max_rounds": 100_000},
        }
    )
