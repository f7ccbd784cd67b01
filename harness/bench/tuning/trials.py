"""What became of the points that a search has tried, and how good they are."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.bench.tuning.space import Point
from harness.problem.case import Case
from harness.reporting.units import interval, scaled
from harness.results.result import Result, printed_params
from harness.results.statistics import Interval
from harness.system.errors import cut
from harness.system.status import Status

LONGEST_REASON = 100
"""Characters of a reason that stand in a trial's line; its row has all."""


class Fate(StrEnum):
    """How a trial ended."""

    MEASURED = "measured"
    """It is right, and its time or its model is known."""
    REFUSED = "refused"
    """By variant, target or toolchain: there is no code, or it was not even built."""
    WRONG = "wrong"
    FAILED = "failed"
    """It crashed, or took too long or too much memory, or has no time or model."""
    SAME = "same code"
    """As that of another trial, which counts for it."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A point that was tried."""

    number: int
    """From 1; 0 is where the search began."""
    point: Point
    case: Case | None
    """None where the settings do not fit each other."""
    fate: Fate
    gain: Interval | None = None
    """How many times as fast as where the search began, for one that was measured, or has such code."""
    reason: str = ""

    @property
    def cost(self) -> float | None:
        """What the search minimizes; None of what cannot win."""
        return None if self.gain is None else -math.log(self.gain.value)


def fate_of(row: Result, gain: Interval | None) -> Fate:
    """Return what a candidate's row says, whose gain is None where it has neither time nor model."""
    if row.status is Status.WRONG:
        return Fate.WRONG
    if row.status in (Status.UNSUPPORTED, Status.BUILD_FAILED):
        return Fate.REFUSED
    return Fate.FAILED if gain is None else Fate.MEASURED


def gain_in_time(row: Result) -> Interval | None:
    """Return a row's speed-up, of paired times, over what it is compared with."""
    if row.status is not Status.PASSED or row.speedup is None:
        return None
    low = 0.0 if row.speedup_low is None else row.speedup_low
    high = math.inf if row.speedup_high is None else row.speedup_high
    return Interval(row.speedup, low, high)


def gain_in_model(row: Result, start: Result) -> Interval | None:
    """Return the modelled cycles of another row's call over those of a row's.  Nothing of it is measured."""
    own, others = modelled_cycles(row), modelled_cycles(start)
    if own is None or others is None:
        return None
    gain = others / own
    return Interval(gain, gain, gain)


def modelled_cycles(row: Result) -> float | None:
    """Return the cycles of the device's clock that a call takes by the model of its main loop.

    They are what the call executes, over what the chip does in a cycle at the modelled part of its peak.
    None of what is wrong, or has no model.
    """
    if row.status.is_failure or row.flops_executed is None:
        return None
    fraction = row.model.get("grid_fraction_of_peak", row.model.get("fraction_of_peak"))
    peak = row.model.get("peak_flops_per_cycle")
    if not isinstance(fraction, float) or not isinstance(peak, float) or fraction <= 0:
        return None
    return row.flops_executed / (peak * fraction)


def counts_of(trials: Iterable[Trial]) -> Counter[Fate]:
    """Return how many trials ended how; where the search began is none of them."""
    return Counter(trial.fate for trial in trials if trial.number > 0)


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """Return the measured trial with the largest gain; None without any."""
    measured = [trial for trial in trials if trial.fate is Fate.MEASURED and trial.gain is not None]
    return max(measured, key=lambda trial: trial.gain.value if trial.gain else 0.0, default=None)


def trial_line(trial: Trial, start: Point, best: Trial | None, *, by_model: bool) -> str:
    """Return a trial on one line: what differs from the start, its gain or why it has none, and the best."""
    words = [f"trial {trial.number:>3}", settings_in_words(changed(trial.point, start))]
    if trial.fate in (Fate.MEASURED, Fate.SAME):
        words.append(gain_in_words(trial.gain, by_model=by_model))
    if trial.fate is not Fate.MEASURED:
        reason = cut(" ".join(trial.reason.split()), LONGEST_REASON)
        words.append(f"{trial.fate}: {reason}" if reason else trial.fate)
    if best is not None and best.number != trial.number:
        words.append(f"best: {gain_in_words(best.gain, by_model=by_model)} (trial {best.number})")
    elif best is not None and trial.fate is Fate.MEASURED:
        words.append("the best so far")
    return "  ".join(words)


def gain_in_words(gain: Interval | None, *, by_model: bool) -> str:
    """Return how many times as fast something is, with its interval, or that it is so in a model."""
    if gain is None:
        return "–"
    if by_model:
        return f"modelled {scaled(gain.value, 1.0)}×"
    bounds = interval(*((gain.low, gain.high) if gain.low > 0 and gain.is_bounded else (None, None)))
    return f"{scaled(gain.value, 1.0)}× {bounds}".rstrip()


def changed(point: Point, start: Point) -> Point:
    """Return the settings of a point that differ from those of another one."""
    return {name: value for name, value in point.items() if value != start.get(name)}


def settings_in_words(settings: Point) -> str:
    """Return settings as tables print them, without what is left open."""
    return printed_params({name: value for name, value in settings.items() if value is not None}) or "default"
