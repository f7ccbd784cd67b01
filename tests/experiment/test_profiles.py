from pathlib import Path

import pytest

from harness.experiment.experiment import Experiment, load_experiment
from harness.experiment.profiles import with_profile
from harness.system.errors import InputError

pytestmark = pytest.mark.usefixtures("examples")

TEXT = """
name = "trial"
question = "Does it work?"
variants = ["unfused", "flash"]
baseline = "unfused"

[problem]
tokens = 1024
hidden = 256
head_dim = [32, 64]
seq = [64, 128]

[variant.unfused]
where = "seq <= 64"

[timing]
interval = 0.02
budget_s = 9
"""


def load(folder: Path, text: str, profile: str | None = "small") -> Experiment:
    file = folder / "trial.toml"
    file.write_text(TEXT + text)
    return load_experiment(file, profile)


def mistake(folder: Path, text: str, profile: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text, profile)
    (line,) = caught.value.lines
    return line.removeprefix(f"{folder}/")


def test_keys_of_problems_and_timing_are_changed_one_by_one(tmp_path: Path) -> None:
    experiment = load(tmp_path, "[profiles.small]\nproblem = {seq = 32}\ntiming = {budget_s = 1}\n")
    assert {case.problem.seq_q for case in experiment.cases()} == {32}
    assert {case.problem.head_dim for case in experiment.cases()} == {32, 64}
    assert (experiment.timing.interval, experiment.timing.budget_s) == (0.02, 1)
    assert experiment.profile == "small"
    assert experiment.name == "trial"


def test_variants_are_replaced_and_settings_of_those_that_are_left_out_do_not_count(tmp_path: Path) -> None:
    experiment = load(tmp_path, '[profiles.small]\nvariants = ["flash"]\nbaseline = "flash"\n')
    assert {case.variant for case in experiment.cases()} == {"flash"}
    assert experiment.variant == {}


def test_figures_leave_out_variants_that_take_no_part() -> None:
    figures = {"throughput": {"variants": ["flash", "unfused"]}, "speedup": {}}
    data = {"figures": figures, "profiles": {"small": {"variants": ["flash"]}}}
    assert with_profile(data, "small")["figures"] == {"throughput": {"variants": ["flash"]}, "speedup": {}}


def test_a_key_takes_the_place_of_another_that_sets_the_same(tmp_path: Path) -> None:
    experiment = load(tmp_path, "[profiles.small.problem]\nbatch = 3\nheads = 2\n")
    assert {(case.problem.batch, case.problem.heads) for case in experiment.cases()} == {(3, 2)}


def test_tables_of_problems_are_replaced(tmp_path: Path) -> None:
    text = "[[problems]]\nheads = 1\nhead_dim = 8\nseq = 256\n"
    changed = "[profiles.small]\nproblems = []\n"
    assert 256 in {case.problem.seq_q for case in load(tmp_path, text + changed, None).cases()}
    assert 256 not in {case.problem.seq_q for case in load(tmp_path, text + changed).cases()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[profiles]\nsmall = 3\n",
            "trial.toml: profiles.small: Input should be a valid dictionary or instance of Profile, found 3",
        ),
        (
            "[profiles.small]\nproblm = {}\n",
            "trial.toml: profiles.small.problm: unknown key (did you mean problem?); allowed: variants, "
            "targets, baseline, params, problems, problem, check, timing, limits, variant, target, figures",
        ),
        (
            "[profiles.small]\ntiming = 3\n",
            "trial.toml: profiles.small.timing: Input should be a valid dictionary, found 3",
        ),
        (
            "[profiles.small.timing]\nbudget_s = 0\n",
            "trial.toml (profile small): timing.budget_s: Input should be greater than 0, found 0",
        ),
        (
            "[profiles.small.variant.flsh]\ntile_q = 3\n",
            "trial.toml (profile small): variant.flsh: 'variants' does not list it (did you mean flash?); "
            "expected one of unfused, flash",
        ),
    ],
)
def test_every_profile_is_checked_whichever_is_asked_for(tmp_path: Path, text: str, expected: str) -> None:
    assert mistake(tmp_path, text).replace('"', "'") == expected.replace('"', "'")


def test_an_unknown_profile_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    text = "[profiles.small.problem]\nseq = 32\n[profiles.tiny.problem]\nseq = 16\n"
    assert mistake(tmp_path, text, "smal") == (
        "trial.toml: --profile: unknown profile 'smal' (did you mean small?); expected one of small, tiny"
    )
    assert mistake(tmp_path, "", "cpu").endswith(
        '--profile: found "cpu", but this experiment has no profiles; expected no --profile'
    )
