"""What this machine can resolve: copies of one kernel are timed against it, and ought to be as fast."""

from dataclasses import dataclass

from harness.bench.running.progress import Observer
from harness.bench.running.runner import run_experiment
from harness.bench.workers.process import scratch_folder
from harness.experiment.experiment import Experiment
from harness.results.result import Result
from harness.results.statistics import Interval
from harness.system.errors import HarnessError

COPIES = 3
"""Of one kernel, each compared with the original."""
LEAST_SECONDS, MOST_SECONDS = 5.0, 3600.0


@dataclass(frozen=True)
class MachineNoise:
    """What timing a kernel against copies of itself gives, where every ratio should be 1."""

    ratios: tuple[Interval, ...]
    """Of each copy, over all rounds, as speed-ups are given."""
    rounds: int
    starts: int
    load: float
    """Share of the processors that others used meanwhile."""

    @property
    def smallest_difference(self) -> float:
        """The smallest difference worth claiming, as a share: no copy's interval reaches farther from 1."""
        return max(max(1 / ratio.low, ratio.high) - 1 for ratio in self.ratios)


def measure_noise(seconds: float, observer: Observer) -> MachineNoise:
    """Time copies of `flash` against it for that long, as candidates of one group are timed."""
    experiment = _experiment(seconds)
    with scratch_folder() as folder:
        summary = run_experiment(
            experiment,
            experiment.cases([]),
            out=folder,
            resume=False,
            timed=True,
            observer=observer,
            command=["harness", "doctor", "--noise"],
        )
    rows = summary.results
    failed = next((row for row in rows if row.time_s is None), None)
    if failed is not None:
        raise HarnessError(f"no noise: {failed.variant} was not timed: {failed.reason}")
    original, *copies = rows
    return MachineNoise(
        ratios=tuple(_speedup(copy) for copy in copies),
        rounds=original.samples or 0,
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
