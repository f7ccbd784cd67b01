"""Settings of variants and targets as cases have them."""

import pytest

from harness.experiment.case_settings import complete_case
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import InputError

PROBLEM = AttentionProblem(heads=2, seq_q=16, head_dim=8)


@pytest.mark.parametrize("left_open", [{"kv_splits": "none", "tile_q": "none"}, {}])
def test_none_leaves_a_setting_open(left_open):
    case = complete_case(PROBLEM, "flash", "cpu", {"tile_kv": 32, **left_open}, {})
    assert case.params == {"tile_kv": 32, "division": "final"}


def test_what_cannot_be_left_open_must_be_set():
    with pytest.raises(InputError, match="division"):
        complete_case(PROBLEM, "flash", "cpu", {"division": "none"}, {})


def test_settings_that_are_equal_but_of_another_kind_are_checked_by_themselves():
    assert complete_case(PROBLEM, "flash", "cpu", {"tile_q": 1}, {}).params["tile_q"] == 1
    with pytest.raises(InputError, match="tile_q"):
        complete_case(PROBLEM, "flash", "cpu", {"tile_q": True}, {})


def test_cases_of_the_same_settings_have_tables_of_their_own():
    first, second = (complete_case(PROBLEM, "flash", "cpu", {"tile_q": 8}, {}) for _ in range(2))
    first.params["tile_q"] = 16
    assert second.params["tile_q"] == 8
    assert complete_case(PROBLEM, "flash", "cpu", {"tile_q": 8}, {}).params["tile_q"] == 8


def test_all_cores_are_those_that_there_are_now(monkeypatch):
    counts = []
    for cores in (2, 5):
        monkeypatch.setattr("harness.experiment.case_settings.available_cores", lambda cores=cores: cores)
        counts.append(
            complete_case(PROBLEM, "flash", "cpu", {}, {"threads": "all"}).target_options["threads"]
        )
    assert counts == [2, 5]
