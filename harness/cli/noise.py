"""`harness doctor --noise`: what this machine can resolve, in words."""

import typer

from harness.bench.running.machine_noise import LEAST_SECONDS, MOST_SECONDS, MachineNoise, measure_noise
from harness.bench.running.progress import make_observer
from harness.results.statistics import Interval
from harness.system.errors import InputError

DEFAULT_SECONDS = 60.0
BUSY = 0.1
"""Share of the processors, used by others, from which on a machine counts as busy."""


def tell_noise(is_asked_for: bool, seconds: float | None, plain: bool) -> None:
    """Measure for that long, or for a minute, and print the report."""
    if not is_asked_for:
        raise InputError("--seconds: found no --noise; expected it, which takes so long")
    seconds = DEFAULT_SECONDS if seconds is None else seconds
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise InputError(f"--seconds: found {seconds:g}, expected {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
    typer.echo(f"timing copies of one kernel against it for {seconds:g} s …")
    for line in lines_of(measure_noise(seconds, make_observer(plain)), seconds):
        typer.echo(line)


def lines_of(noise: MachineNoise, seconds: float) -> list[str]:
    """Return the report: everything that was measured ought to be 1."""
    busy = "; busy: try again when it is quiet" if noise.load > BUSY else ""
    return [
        f"rounds: {noise.rounds} in {noise.starts} starts; others used {noise.load:.0%} of processors{busy}",
        f"ratio of a copy over all rounds: {', '.join(map(_shown, noise.ratios))}",
        f"smallest difference worth claiming: {noise.smallest_difference:.1%}, of one thread on the CPU, "
        f"with budget_s = {seconds:g} for a group of {len(noise.ratios) + 1}",
    ]


def _shown(ratio: Interval) -> str:
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
