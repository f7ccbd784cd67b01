"""Whether the time that a worker claims for a call can be, by what this process has timed of it."""

from collections.abc import Iterable, Sequence
from statistics import median

from harness.running.outside_clock import GIVING_SLACK_S, MOST_COPIES, OutsideClock, OutsideTimes, typical
from harness.status import Status
from harness.workers.process import WorkerFailure

MOST_TIMES_LONGER = 3.0
"""A call may take so many times what its worker says."""
SLACK_S = 5e-6
"""And so much more: a call that does nothing takes some time, too."""
MOST_TIMES_LONGER_ON_NEW_INPUTS = 5.0
NEW_INPUTS_SLACK_S = 100e-6
"""The first call on other inputs may take so much longer, with nothing in the caches."""
MOST_CONVERSIONS_OF_INPUTS = 2.0
"""Taking inputs may take so many times what it takes to bring them into another layout and type."""
HANDLING_SLACK_S = 1e-3
"""Handling arrays on a device may take so much more: they are copied from and to it."""
POISONING_SLACK_S = 0.1
"""Poisoning may take so long: a workspace is filled that is as large for all problems."""
READING_SLACK_S = 100e-6
"""Reading outputs in the processor's memory may take so much more than copies."""
MOST_SHARE_OF_A_CALL = 0.25
"""Reading an output for the first time may take so much of a call longer than reading it again."""
MOST_FIRST_CONVERSIONS = 1.25
"""Or so many times what it takes to bring it into another layout and type, for code that keeps that."""
READING_ANEW_SLACK_S = 2e-6
"""And so much more, in the processor's memory."""
MOST_CONVERSIONS = 3.0
"""Reading outputs may take so many times what it takes to bring them into another layout and type, or as long
as a call."""
MOST_SHARE_IN_PLACE = 0.05
"""Reading outputs may take so much of a call where they are computed again in the same memory."""
MOST_CONVERSIONS_IN_PLACE = 2.0
"""Or so many times what it takes to bring them into another layout and type."""
IN_PLACE_SLACK_S = 5e-6
"""And so much more."""
MOST_CALLS_HANDLED = 5.0
"""Taking inputs and poisoning outputs may take so many times what a call takes, whatever copies take."""
MOST_TIMES_THE_PEAK = 3.0
"""Nothing is faster than the machine; so many times its measured peak is no error of that any more."""
MOST_OF_WHAT_PASSED = 1.1
"""A sample may claim so much of the time that has passed while it was taken: clocks differ a little."""
CONFIRMATIONS = 6
"""What is not to be trusted is timed so often again before it is said to be wrong."""


def distrust(
    taken: Iterable[OutsideTimes],
    claimed_s: float,
    launch_s: float,
    *,
    is_of_device: bool = False,
) -> WorkerFailure | None:
    """Return why the time that a worker claims for a call is not to be trusted, or None.

    `taken` are the times of some starts, of which the typical counts; `launch_s` is what a launch takes
    besides the time that a device counts.  Outputs that are read from a device may take longer.
    """
    times = list(taken)
    if not times:
        return None
    expected = claimed_s + launch_s
    seconds = typical(times)
    if seconds > MOST_TIMES_LONGER * expected + SLACK_S:
        return _distrusted(
            f"a call takes {_shown(seconds)} until its output is there, {_shown(expected)} by its own clock"
        )
    first = median(one.on_new_inputs_s for one in times)
    if first > MOST_TIMES_LONGER_ON_NEW_INPUTS * expected + NEW_INPUTS_SLACK_S:
        return _distrusted(
            f"the first call on other inputs takes {_shown(first)}, those that follow {_shown(seconds)}: "
            "they give what was computed before"
        )
    poisoned = median(one.after_poison_s for one in times)
    if poisoned > MOST_TIMES_LONGER * expected + SLACK_S + median(one.poison_s for one in times):
        return _distrusted(
            f"a call takes {_shown(poisoned)} where its output was poisoned, {_shown(expected)} by its own "
            "clock: calls leave what was computed before"
        )
    return _distrust_of_reading(times, expected, is_of_device) or _distrust_of_handling(
        times, expected, is_of_device
    )


def _distrust_of_reading(
    times: Sequence[OutsideTimes], expected_s: float, is_of_device: bool
) -> WorkerFailure | None:
    """Return why code seems to compute when its output is read, or None.

    Code that keeps what it has computed then is fast when it is read again: only the first time tells.
    """
    anew_s = median(one.read_anew_s for one in times)
    converting_s = MOST_FIRST_CONVERSIONS * median(one.convert_s for one in times)
    copying_s = MOST_COPIES * median(one.copy_s for one in times) if is_of_device else 0.0
    slack_s = HANDLING_SLACK_S if is_of_device else READING_ANEW_SLACK_S
    if anew_s <= max(MOST_SHARE_OF_A_CALL * expected_s, converting_s, copying_s) + slack_s:
        return None
    return _distrusted(
        f"reading the output of a call takes {_shown(anew_s)} longer than reading it again, the call "
        f"{_shown(expected_s)} by its own clock: it computes there"
    )


def _distrust_of_handling(
    times: Sequence[OutsideTimes], expected_s: float, is_of_device: bool
) -> WorkerFailure | None:
    """Return why code seems to compute outside of its calls, or None.

    What takes a few times as long as a call hides little: a padded batch, say, takes many times its inputs'
    memory, one sequence after the other.
    """
    copies_s = MOST_COPIES * median(one.copy_s for one in times)
    taking_s = MOST_CONVERSIONS_OF_INPUTS * median(one.convert_inputs_s for one in times)
    reading_s = max(expected_s, MOST_CONVERSIONS * median(one.convert_s for one in times))
    hidden_s = MOST_CALLS_HANDLED * expected_s
    giving_slack_s = HANDLING_SLACK_S if is_of_device else GIVING_SLACK_S
    reading_slack_s = HANDLING_SLACK_S if is_of_device else READING_SLACK_S
    handled = {
        "it takes other inputs": (
            median(one.give_s for one in times),
            max(hidden_s, max(copies_s, taking_s) + giving_slack_s),
        ),
        "outputs are poisoned": (
            median(one.poison_s for one in times),
            max(hidden_s, copies_s + POISONING_SLACK_S),
        ),
        "its outputs are read": (
            median(one.read_s for one in times),
            max(reading_s, copies_s + reading_slack_s),
        ),
    }
    for what, (seconds, allowed_s) in handled.items():
        if seconds > allowed_s:
            return _distrusted(
                f"{_shown(seconds)} pass while {what}, where {_shown(allowed_s)} are what copies and "
                "conversions may take: it computes there"
            )
    return None


def distrust_of_reading_in_place(taken: Iterable[OutsideTimes], claimed_s: float) -> WorkerFailure | None:
    """Return why code computes when its output is read, or None, of code that then writes it once more."""
    times = list(taken)
    if not times:
        return None
    read_s = median(one.read_s for one in times)
    converting_s = MOST_CONVERSIONS_IN_PLACE * median(one.convert_s for one in times)
    allowed_s = max(MOST_SHARE_IN_PLACE * claimed_s, converting_s) + IN_PLACE_SLACK_S
    if read_s <= allowed_s:
        return None
    return _distrusted(
        f"{_shown(read_s)} pass while its outputs are read, and written anew, where {_shown(allowed_s)} are "
        "what conversions may take: it computes there"
    )


def beyond_what_passed(seconds: float, calls: int, passed_s: float) -> WorkerFailure | None:
    """Return why a sample of `calls` calls of `seconds` each cannot be that came after `passed_s`, or None.

    So it is where a sample says milliseconds, as CUDA's events do, or the time of all calls for that of one.
    """
    if seconds * calls <= MOST_OF_WHAT_PASSED * passed_s:
        return None
    number = "one call" if calls == 1 else f"{calls} calls"
    return _distrusted(
        f"a sample says {_shown(seconds)} of {number}, and {_shown(passed_s)} have passed meanwhile"
    )


def beyond_the_peak(flops: int, claimed_s: float, peak_flops: float) -> WorkerFailure | None:
    """Return why a time is not to be trusted that this peak, in FLOP/s, does not allow, or None."""
    if flops / claimed_s <= MOST_TIMES_THE_PEAK * peak_flops:
        return None
    rate, peak = (f"{one / 1e9:.3g} GFLOP/s" for one in (flops / claimed_s, peak_flops))
    return _distrusted(f"{rate} are computed, and the measured peak is {peak}")


def persists(clock: OutsideClock, claimed_s: float, launch_s: float, *, is_of_device: bool = False) -> bool:
    """Return whether there is a reason for distrust each time that calls are timed again.

    On a machine with more to do than it has processors, a call may wait several times as long as it takes:
    that happens to honest code, but not again and again to a `clock` that confirms.  Code that deceives is
    found out each time.
    """
    return all(
        distrust([clock.times()], claimed_s, launch_s, is_of_device=is_of_device) is not None
        for _ in range(CONFIRMATIONS)
    )


def _distrusted(reason: str) -> WorkerFailure:
    return WorkerFailure(Status.WRONG, f"the time is not to be trusted: {reason}")


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
