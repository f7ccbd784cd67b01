"""Whole searches, of a variant whose parameters make it faster, slower, wrong or impossible."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from example_cases import example_experiment

from harness.bench.running.progress import Observer
from harness.bench.running.runner import run_experiment
from harness.bench.tuning.found import Found, SearchSettings
from harness.bench.tuning.trials import Fate
from harness.bench.tuning.tuning_run import Tuned, tune_experiment
from harness.experiment.experiment import Experiment
from harness.experiment.winners import Place, kept_winners
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError, RunInterrupted

pytestmark = [pytest.mark.usefixtures("example_plugin"), pytest.mark.extra("tune")]

TIMING = {"min_sample_s": 1e-3, "min_rounds": 6, "max_rounds": 60, "starts": 5, "budget_s": 20.0}
VALUES = {"repeats": [1, 8], "trick": ["plain", "skip", "impossible"]}


def experiment(**sections: Any) -> Experiment:
    problem = {"seq": 512, "heads": 1, "head_dim": 16}
    return example_experiment(["tunable"], **{"problem": problem, "timing": TIMING, **sections})


class Lines(Observer):
    """Keeps what a search says; ends it, as Ctrl-C does, at a trial that was built."""

    def __init__(self, *, ends_at_measured: bool = False) -> None:
        self.lines: list[str] = []
        self.ends_at_measured = ends_at_measured

    def message(self, text: str) -> None:
        self.lines.append(text)
        if self.ends_at_measured and text.startswith("trial") and "refused" not in text:
            raise KeyboardInterrupt


def tune(out: Path, observer: Lines, *, resume: bool = False, **settings: Any) -> Tuned:
    plan = experiment(variant={"tunable": VALUES})
    return tune_experiment(
        plan,
        plan.cases(),
        SearchSettings(budget_s=300.0, **settings),
        out=out,
        resume=resume,
        observer=observer,
        command=["harness", "tune", "tiny.toml"],
    )


@pytest.fixture(scope="module")
def searched(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A search that is interrupted after its first measured trial, and gone on with."""
    out = tmp_path_factory.mktemp("tuned")
    interrupted, observer = Lines(ends_at_measured=True), Lines()
    with pytest.raises(RunInterrupted):
        tune(out, interrupted)
    tuned = tune(out, observer, resume=True)
    return {"tuned": tuned, "observer": observer, "interrupted": interrupted}


def found_of(searched: Mapping[str, Any]) -> Found:
    (found,) = searched["tuned"].found
    assert isinstance(found, Found)
    return found


def test_the_fastest_right_candidate_wins_beyond_its_interval(searched: Mapping[str, Any]) -> None:
    found = found_of(searched)
    assert found.point == {"repeats": 1, "trick": "plain"}, (found, searched["observer"].lines)
    assert found.gain is not None
    assert 1 < found.gain.low <= found.gain.value
    assert found.default_settings["repeats"] == 8


def test_wrong_and_impossible_candidates_are_counted_and_do_not_win(searched: Mapping[str, Any]) -> None:
    assert found_of(searched).why == "all was tried"
    assert found_of(searched).counts == {Fate.MEASURED: 1, Fate.WRONG: 2, Fate.REFUSED: 2}


def test_a_resumed_search_keeps_what_it_has_tried(searched: Mapping[str, Any]) -> None:
    numbers = [
        [line.split()[1] for line in searched[name].lines if line.startswith("trial")]
        for name in ("interrupted", "observer")
    ]
    assert not set(numbers[0]) & set(numbers[1])
    (run,) = searched["tuned"].folder.parent.iterdir()
    rows = [row for row in RunFolder.open(run).results() if row.trial is not None]
    assert len({row.trial for row in rows}) == len({row.case for row in rows}) == 6


def test_rows_hold_each_trial_and_what_was_refused_has_no_key(searched: Mapping[str, Any]) -> None:
    rows = RunFolder.open(searched["tuned"].folder).results()
    refused = [row for row in rows if row.status == "unsupported"]
    assert {(row.phase, row.key, row.reason) for row in refused} == {("plan", None, "an impossible trick")}
    assert {row.params_source for row in rows if row.trial} == {"given"}
    assert [row.params_source for row in rows if row.trial == 0] == ["default"]


def test_the_winner_is_kept_for_later_runs_whose_rows_say_so(
    searched: Mapping[str, Any], tmp_path: Path
) -> None:
    plan = experiment(params="tuned")
    (case,) = plan.cases()
    assert case.params == {"block": 64, "repeats": 1, "trick": "plain"}
    assert plan.params_source(case) == "tuned"
    rows = run_experiment(
        plan, plan.cases(), out=tmp_path, resume=False, timed=False, observer=Observer(), command=[]
    ).results
    assert [(row.status, row.params_source) for row in rows] == [("passed", "tuned")]
    kept = kept_winners()[Place.of(found_of(searched).default)]
    assert (kept.objective, kept.trials, kept.run) == ("time", 5, searched["tuned"].folder.name)


@pytest.mark.sweep
def test_a_search_that_begins_elsewhere_does_not_know_the_default(tmp_path: Path) -> None:
    tuned = tune(tmp_path, Lines(), begin_at={"repeats": 8, "trick": "plain"}, most_trials=1)
    (found,) = tuned.found
    assert found.start.params["repeats"] == 8
    assert found.point in ({}, {"repeats": 1, "trick": "plain"})


def test_a_start_that_the_space_does_not_have_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--from repeats=3: expected one of 1, 8"):
        tune(tmp_path, Lines(), begin_at={"repeats": 3})


def test_without_a_device_a_line_names_the_model(tmp_path: Path) -> None:
    plan = Experiment.model_validate(
        {
            "name": "gpu",
            "question": "?",
            "variants": ["flash"],
            "targets": ["xegpu:bmg"],
            "problem": {"seq": 64, "heads": 1, "head_dim": 16, "dtype": "f16"},
        }
    )
    with pytest.raises(InputError, match=r"xegpu:bmg: .*--model"):
        tune_experiment(
            plan, plan.cases(), SearchSettings(), out=tmp_path, resume=False, observer=Lines(), command=[]
        )
