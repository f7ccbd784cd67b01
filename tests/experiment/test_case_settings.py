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
