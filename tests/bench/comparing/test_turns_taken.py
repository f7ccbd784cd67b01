"""Ratios of rounds in which two revisions took turns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from example_results import example_manifest, example_result, example_round

from harness.bench.comparing.comparison import compare_runs
from harness.bench.comparing.turns_taken import OF_TURNS, times_in_turn
from harness.results.run_folder import RunFolder

CASE = "0" * 12
WriteRun = Callable[..., RunFolder]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Write a run of one case, which is timed in these groups, each with the seconds of its rounds."""

    def write(name: str, **seconds_of_group: np.ndarray) -> RunFolder:
        run = RunFolder.create(tmp_path / name, "sweep", example_manifest())
        for group, seconds in seconds_of_group.items():
            for number, value in enumerate(seconds):
                taken = {"group": group.replace("_", "-"), "round": number, "start": number // 10}
                run.append_round(example_round(seconds={CASE: [value]}, **taken))
        run.append_result(example_result(CASE, time_s=1.0, device="a processor", binary_digest=name))
        run.release()
        return run

    return write


def drifting(random: np.random.Generator, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times of two codes of which one takes longer, on a machine that drifts by tens of percent."""
    machine = np.exp(np.cumsum(0.05 * random.standard_normal(100)))
    old, new = (machine * np.exp(0.005 * random.standard_normal(100)) for _ in range(2))
    return old, factor * new


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.07, "slower"), (1.015, "slower within the threshold"), (0.97, "faster")]
)
def test_what_both_see_of_the_machine_is_in_no_ratio(
    write_run: WriteRun, factor: float, verdict: str
) -> None:
    old, new = drifting(np.random.default_rng(1), factor)
    runs = write_run("old", turns_1=old), write_run("new", turns_1=new)
    (case,) = compare_runs(*runs).cases.to_dict("records")
    assert (case["how"], case["verdict"]) == ("in turn", verdict)
    assert case["low"] < factor < case["high"]
    assert case["high"] / case["low"] < 1.01


def test_the_rounds_that_rows_are_made_of_count(write_run: WriteRun) -> None:
    random = np.random.default_rng(2)
    (first_old, first_new), (last_old, last_new) = drifting(random, 2.0), drifting(random, 1.2)
    old = write_run("old", turns_1=first_old, turns_2=last_old)
    new = write_run("new", turns_1=first_new, turns_2=last_new)
    assert times_in_turn(old, new)["turn_ratio"].tolist() == pytest.approx([1.2], rel=0.01)


def test_a_case_that_only_one_run_has_timed_again_has_no_common_rounds(write_run: WriteRun) -> None:
    old, new = drifting(np.random.default_rng(3), 1.2)
    assert times_in_turn(write_run("old", turns_1=old, turns_2=old), write_run("new", turns_1=new)).empty


def test_runs_that_were_made_one_after_the_other_took_no_turns(write_run: WriteRun) -> None:
    """Runs of the same code name their groups alike."""
    assert not "00ff".startswith(OF_TURNS)
    old, new = drifting(np.random.default_rng(4), 1.2)
    runs = write_run("old", **{"00ff": old}), write_run("new", **{"00ff": new})
    assert compare_runs(*runs).cases["how"].tolist() == ["apart"]
