"""Winners of searches: for whom they are, where they lie, and who takes them."""

from pathlib import Path
from typing import Any

import pytest

from harness.experiment.experiment import Experiment
from harness.experiment.winners import (
    Place,
    Winner,
    class_of,
    fixed_settings,
    keep_winners,
    kept_winners,
    winners_file,
)
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import InputError

PROBLEM = AttentionProblem(heads=2, seq_q=200, head_dim=16)
THREADS = {"threads": 1}
CASE = Case(
    problem=PROBLEM, variant="flash", target="cpu", params={"division": "final"}, target_options=THREADS
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))


def winner(case: Case = CASE, **changes: Any) -> Winner:
    place = Place.of(case)
    fields: dict[str, Any] = {
        "device": place.device,
        "variant": case.variant,
        "target": case.target,
        "fixed": fixed_settings(case),
        "problem_class": place.problem_class,
        "params": {"tile_q": 16, "tile_kv": 96},
        "target_options": {},
        "objective": "time",
        "speedup": 1.25,
        "speedup_low": 1.2,
        "speedup_high": 1.3,
        "trials": 12,
        "problem": case.problem.describe(),
        "run": "2026-01-02T03-04-05",
        "found": "2026-01-02T03:04:05+00:00",
        "code_digest": "abc",
    }
    return Winner(**{**fields, **changes})


def experiment(seq: Any = 200, **sections: Any) -> Experiment:
    problem = {"seq": seq, "heads": 2, "head_dim": 16}
    settings = {"name": "tiny", "question": "?", "variants": ["flash"], "problem": problem}
    return Experiment.model_validate({**settings, **sections})


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({"seq_q": 256, "seq_kv": 129}, True),
        ({"seq_q": 257}, False),
        ({"batch": 2, "heads": 1}, True),
        ({"heads": 3}, False),
        ({"kv_heads": 1}, False),
        ({"scale": 0.5}, True),
        ({"head_dim": 32}, False),
        ({"causal": True}, False),
        ({"dtype": "bf16"}, False),
        ({"bias": True}, False),
    ],
)
def test_a_class_holds_sizes_up_to_a_power_of_two_and_one_form(
    changes: dict[str, Any], is_same: bool
) -> None:
    fields = {"heads": 2, "seq_q": 200, "seq_kv": 200, "head_dim": 16, **changes}
    assert (class_of(AttentionProblem(**fields)) == class_of(PROBLEM)) == is_same


def test_softcaps_and_windows_of_about_one_width_are_one_class() -> None:
    def of(**fields: Any) -> str:
        return class_of(AttentionProblem(heads=2, seq_q=200, head_dim=16, **fields))

    assert of(softcap=20.0) == of(softcap=30.0) != of()
    assert of(window=(100, 0)) == of(window=(128, 0)) != of(window=(129, 0))


def test_a_later_winner_of_the_same_takes_the_place_of_an_earlier_one() -> None:
    assert kept_winners() == {}
    other = Case(problem=PROBLEM, variant="naive", target="cpu", target_options=THREADS)
    keep_winners([winner(), winner(other)])
    later = winner(params={"tile_q": 64}, speedup=2.0, speedup_low=None, speedup_high=None)
    keep_winners([later])
    kept = kept_winners()
    assert kept[Place.of(CASE)] == later
    assert kept[Place.of(other)] == winner(other)
    assert len(kept) == 2


def test_a_file_that_is_no_table_is_one_line() -> None:
    winners_file().write_text("none")
    with pytest.raises(InputError, match="not a table of winners"):
        kept_winners()


def test_tuned_cases_have_the_parameters_of_the_winner_of_their_class() -> None:
    keep_winners([winner()])
    plan = experiment([150, 300], params="tuned")
    in_class, other = plan.cases()
    assert in_class.params == {"division": "final", "tile_q": 16, "tile_kv": 96}
    assert plan.params_source(in_class) == "tuned"
    assert (plan.params_source(other), plan.without_winner) == ("default", [other])


def test_a_winner_is_taken_only_where_it_is_asked_for() -> None:
    keep_winners([winner()])
    plan = experiment()
    (case,) = plan.cases()
    assert "tile_q" not in case.params
    assert (plan.params_source(case), plan.without_winner) == ("default", [])


def test_default_and_tuned_stand_side_by_side() -> None:
    keep_winners([winner()])
    plan = experiment(params=["default", "tuned"])
    assert [plan.params_source(case) for case in plan.cases()] == ["default", "tuned"]


def test_what_an_experiment_sets_stays() -> None:
    keep_winners([winner()])
    plan = experiment(params="tuned", variant={"flash": {"tile_kv": 32}})
    (case,) = plan.cases()
    assert case.params["tile_kv"] == 32
    assert (plan.params_source(case), plan.without_winner) == ("given", [])


@pytest.mark.parametrize(
    "changes", [{"device": "another processor"}, {"fixed": {"threads": 2}}, {"target": "cpu:avx2"}]
)
def test_a_winner_of_another_machine_or_setting_is_none(changes: dict[str, Any]) -> None:
    keep_winners([winner(**changes)])
    plan = experiment(params="tuned")
    assert plan.without_winner == plan.cases()


def test_rows_say_where_a_default_or_a_model_has_won() -> None:
    assert winner(params={}).source == "default"
    assert winner(objective="model").source == "tuned-by-model"
