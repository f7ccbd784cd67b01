"""Twins are not told apart and a planted slowdown is found, by real measurements of this machine."""

from pathlib import Path

import pandas
import pytest
from example_results import load
from twin_counts import LEAST_FOUND, MOST_TOLD_APART, Count, counts

from harness.bench.running.progress import PlainObserver
from harness.bench.running.runner import run_experiment
from harness.experiment.experiment import load_experiment

EXPERIMENT = Path(__file__).parents[3] / "experiments" / "twins.toml"


def row(variant: str, low: float, high: float, by: float | None = None) -> dict[str, object]:
    return {"variant": variant, "speedup_low": low, "speedup_high": high, "param.by": by}


def test_counting() -> None:
    rows = [row("flash", 1, 1), row("twin", 0.9, 1.1), row("twin", 1.01, 1.02), row("twin", 0.9, 0.99)]
    rows += [row("slowed-twin", 0.95, 0.98, 0.03), row("slowed-twin", 0.95, 1.01, 0.03)]
    assert counts(pandas.DataFrame(rows)) == [
        Count("twins told apart", 2, 3),
        Count("slowed by 3 % found", 1, 2, 0.03),
    ]


REFERENCE = Path(__file__).parents[3] / "results" / "reference" / "twins"
PAGE = Path(__file__).parents[3] / "docs" / "measurement.md"


@pytest.mark.parametrize("run", sorted(REFERENCE.iterdir()), ids=lambda run: run.name)
def test_the_page_tells_what_the_full_runs_showed(run: Path) -> None:
    frame = load(run)
    busy = frame[frame["variant"] == "twin"]["busy"]
    twins, *slowed = counts(frame)
    machine = "one core busy" if busy.mean() > 0.5 else "quiet"
    told = " | ".join(f"{count.excluding} of {count.all}" for count in [twins, *slowed])
    assert f"| {machine} | {told} |" in PAGE.read_text()
    assert twins.all == 200
    require(twins, slowed, is_busy=busy.mean() > 0.5)


def require(twins: Count, slowed: list[Count], *, is_busy: bool) -> None:
    """Twins are told apart as seldom as intervals promise, and slowdowns are found."""
    assert twins.share <= MOST_TOLD_APART
    assert [count.by for count in slowed if count.share < LEAST_FOUND[is_busy][count.by]] == []


@pytest.mark.slow
def test_twins_are_the_same_and_a_planted_slowdown_is_found(tmp_path: Path) -> None:
    """On a machine that is otherwise quiet; about a quarter of an hour."""
    experiment = load_experiment(EXPERIMENT)
    summary = run_experiment(
        experiment,
        experiment.cases(),
        out=tmp_path,
        resume=False,
        timed=True,
        observer=PlainObserver(),
        command=["harness", "run", "experiments/twins.toml"],
    )
    twins, *slowed = counts(load(summary.folder))
    assert twins.all == 200
    require(twins, slowed, is_busy=False)
