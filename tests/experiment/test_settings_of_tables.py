"""`[problems.check]` and `[problems.timing]`: what a table's problems are checked with, and whether timed."""

from pathlib import Path

import pytest

from harness.experiment.experiment import parse_experiment
from harness.system.errors import InputError

TEXT = """
name = "tables"
question = "Which?"
variants = ["flash"]

[check]
distributions = ["normal", "uniform"]
seed = 3

[[problems]]
heads = 1
head_dim = 8
seq = [16, 32]

[problems.check]
distributions = ["constant"]

[problems.timing]
enabled = false

[[problems]]
heads = 1
head_dim = 8
seq = [32, 64]
"""


def experiment(text: str = TEXT):
    return parse_experiment(text, Path("tables.toml"))


def test_a_table_s_problems_have_its_settings_and_the_first_table_counts() -> None:
    tables = experiment()
    cases = {case.problem.seq_q: case for case in tables.cases()}
    assert list(cases) == [16, 32, 64]
    assert {length: tables.is_timed(case) for length, case in cases.items()} == {
        16: False,
        32: False,
        64: True,
    }
    assert tables.check_of(cases[32]).distributions == ("constant",)
    assert tables.check_of(cases[32]).seed == 3
    assert tables.check_of(cases[64]).distributions == ("normal", "uniform")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            'distributions = ["constants"]',
            "problems[0].check.distributions: unknown distribution 'constants'",
        ),
        ("seed = 2", "problems.0.check.seed: unknown key; allowed: distributions"),
        ("distributions = []", "problems.0.check.distributions"),
    ],
)
def test_wrong_settings_of_a_table_are_told(line: str, told: str) -> None:
    with pytest.raises(InputError) as raised:
        experiment(TEXT.replace('distributions = ["constant"]', line))
    (message,) = raised.value.mistakes
    assert told in message
