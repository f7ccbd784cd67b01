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
def _own_cache_of_a_free_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("os.getloadavg", lambda: (0.3, 0.2, 0.1))


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


def test_where_others_use_the_machine_a_first_forecast_is_as_much_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = Durations()
    monkeypatch.setattr("os.getloadavg", lambda: (13.0, 9.0, 5.0))
    monkeypatch.setattr("harness.bench.running.forecast.available_cores", lambda: 2)
    checked = 3 * (usual.build_s + usual.check_s)
    assert forecast(timed=False).seconds == pytest.approx(usual.else_s + 6.5 * checked)
    assert "6.5 times as long" in forecast(timed=False).line()
    forecast(timed=False).remember(TimeSpent({BUILD: 12.0, CHECK: 24.0}))
    assert forecast(timed=False).seconds == pytest.approx(24, abs=0.1), "as long as it took here"


def test_the_first_cases_correct_a_forecast_that_is_far_off() -> None:
    long = forecast(timed=False, problem={"seq": list(range(1, 101)), "heads": 1, "head_dim": 16})
    assert long.seconds == pytest.approx(208)
    assert long.correction(40, 60.0) is None
    assert long.correction(7, 90.0) is None, "too few cases"
    assert long.correction(40, 250.0) == "about 17 min more: 40 of 200 cases took 250 s"
    assert long.correction(40, 20.0) == "about 80 s more: 40 of 200 cases took 20 s"
    assert long.correction(200, 900.0) is None


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


def test_cases_on_an_emulator_take_what_others_do_until_a_run_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(plugins.target("cuda")), "why_no_device", lambda self, chip: "no driver")
    emulated = {"targets": ["cuda:sm_80"]}
    assert forecast(**emulated).seconds == pytest.approx(Durations().else_s + 6 * 1.0)
    assert forecast(**emulated).groups == 0
    forecast(**emulated).remember(TimeSpent({CHECK: 60.0}))
    assert forecast(**emulated).seconds == pytest.approx(60.0, abs=0.1)


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "durations.json").write_text("{")
    assert forecast().seconds is not None
