"""How long a run will take."""

from pathlib import Path

import pytest
from example_results import example_manifest

from harness import plugins
from harness.bench.running.forecast import Durations, Forecast, what_is_emulated
from harness.bench.running.time_spent import BUILD, CHECK, START_UP, TimeSpent
from harness.experiment.experiment import Experiment

EXPERIMENT = {
    "name": "tiny",
    "question": "How long?",
    "variants": ["flash", "naive"],
    "problem": {"seq": [64, 128, 256], "heads": 1, "head_dim": 16},
    "timing": {"budget_s": 10.0},
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))


def forecast(*, timed: bool = True, code: str = "a", **changes: object) -> Forecast:
    experiment = Experiment.model_validate(EXPERIMENT | changes)
    manifest = example_manifest().model_copy(update={"code_digest": code})
    return Forecast.of(experiment, experiment.cases(), manifest, timed=timed, jobs=2)


def test_a_run_that_was_never_made_is_told_by_its_groups_and_cases() -> None:
    usual = Durations()
    expected = usual.else_s + 6 * (usual.build_s / 2 + usual.check_s) + 30 * usual.of_budget
    assert forecast().seconds == pytest.approx(expected)
    assert forecast().line() == "about 46 s: 6 cases to build and check, 3 groups timed for 10 s at most"
    assert forecast(timing={"budget_s": 60.0}).line().startswith("about 3 min: ")
    assert forecast(timed=False).seconds == pytest.approx(usual.else_s + 3 * (usual.build_s + usual.check_s))


def test_what_a_run_took_is_the_next_forecast() -> None:
    spent = TimeSpent({START_UP: 5.0, BUILD: 12.0, CHECK: 24.0, "samples": 15.0})
    spent.timing_s = 15.0
    forecast().remember(spent)
    assert forecast().seconds == pytest.approx(5 + 24 + 15, abs=0.1), "what was built is in the cache"
    assert forecast(code="b").seconds == pytest.approx(5 + 12 + 24 + 15, abs=0.1)
    assert forecast(problem={"seq": [64], "heads": 1, "head_dim": 16}).seconds == pytest.approx(
        5 + 4 + 8 + 5, abs=0.1
    )


def test_what_the_emulator_is_not_asked_for_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(plugins.target("cuda")), "why_no_device", lambda self, chip: "no driver")
    changes = {"targets": ["cuda:sm_80", "cpu"], "problem": {"seq": [64, 4096], "heads": 8, "head_dim": 64}}
    experiment = Experiment.model_validate(EXPERIMENT | changes)
    assert what_is_emulated(experiment, experiment.cases()) == (
        "4 cases without a device here: 2 with more than 4 GFLOP (limits.emulated_gflop) are built and not "
        "run, the emulator checks what it can of the other 2"
    )
    more = experiment.model_copy(
        update={"limits": experiment.limits.model_copy(update={"emulated_gflop": 100})}
    )
    assert what_is_emulated(more, more.cases()) is None


def test_how_long_an_emulator_takes_only_an_earlier_run_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(plugins.target("cuda")), "why_no_device", lambda self, chip: "no driver")
    emulated = {"targets": ["cuda:sm_80"]}
    assert (forecast(**emulated).seconds, forecast(**emulated).line()) == (None, None)
    forecast(**emulated).remember(TimeSpent({CHECK: 60.0}))
    assert forecast(**emulated).seconds == pytest.approx(60.0, abs=0.1)


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "durations.json").write_text("{")
    assert forecast().seconds is not None
