"""Mistakes in an experiment's file: each ends in one line that names the file, the key and what is wrong."""

from pathlib import Path

import pytest
from test_experiment import HEAD, PROBLEM

from harness.experiment.experiment import load_experiment
from harness.system.errors import InputError

pytestmark = pytest.mark.usefixtures("examples")


def error_of(file: Path, text: str) -> str:
    """Return the message for a wrong file, without the file's name, which it must begin with."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    return message.removeprefix(f"{file}: ")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "head_dim = 64",
            "head_dim = [64, 0]",
            "problem.head_dim.1: Input should be greater than 0, found 0",
        ),
        ("head_dim = 64", "head_dim = []", "problem.head_dim: Tuple should have at least 1 item"),
        ("head_dim = 64", "", "problem.head_dim: Field required"),
        ("heads = 4", "", "problem: heads is missing"),
        ("seq = 128", "", "problem: seq is missing"),
        ("seq = 128", "seq = 128\nseq_kv = 64", "problem: seq and seq_kv both set seq_kv"),
        ("seq = 128", "seq = [50, 64]\ntokens = 100", "problem: tokens 100 is not a multiple of seq_q 64"),
        ("seq = 128", "seq = 64\nkv_heads = [2, 3]", "problem: heads 4 is not a multiple of kv_heads 3"),
        ("seq = 128", "seq = 64\nwindow = [1, 2, 3]", "problem.window.0: found [1, 2, 3], expected a pair"),
        (
            "heads = 4",
            "heads = 4\nheads_kv = 2",
            "problem.heads_kv: unknown key (did you mean heads?); ",
        ),
        (
            "[problem]",
            "[timings]\nbudget_s = 3\n[problem]",
            "timings: unknown key (did you mean ",
        ),
        ("[problem]", "[timing]\nbudget_s = inf\n[problem]", "timing.budget_s: Input should be a finite"),
        (
            "[problem]",
            "[timing]\nmin_rounds = 300\nmax_rounds = 200\n[problem]",
            "timing: min_rounds 300 is more than max_rounds 200",
        ),
        ("[problem]", "[[problems]]\nseq = 1\nheads = 1\nhead_dim = 0\n[problem]", "problems.0.head_dim.0:"),
        ("[problem]", '[check]\ndistributions = ["norml"]\n[problem]', "check.distributions: unknown"),
        ("[problem]", "[figures]\nspedup = {}\n[problem]", "figures.spedup: unknown figure 'spedup'"),
        ("[problem]", "[variant.naive]\n[problem]", "variant.naive: 'variants' does not list it"),
        ("[problem]", "[target.cuda]\n[problem]", "target.cuda: 'targets' does not list it"),
        (
            "[problem]",
            "[variant.flash]\ntile_kv = [64, -1]\n[problem]",
            "variant.flash.tile_kv: Input should",
        ),
        (
            "[problem]",
            "[variant.flash]\ntile = 64\n[problem]",
            "variant.flash.tile: unknown key (did you mean tile_q?); allowed: tile_q, tile_kv, order",
        ),
        (
            "[problem]",
            '[variant.flash]\nwhere = "sequence < 3"\n[problem]',
            "variant.flash.where: unknown name 'sequence' in 'sequence < 3'; expected one of seq, batch, ",
        ),
        ("[problem]", '[variant.flash]\nwhere = "window < 3"\n[problem]', "variant.flash.where: cannot"),
        ("[problem]", 'baseline = "naive"\n[problem]', "baseline: unknown variant 'naive'"),
        (
            "[problem]",
            'targets = ["cpu:avx3"]\n[problem]',
            "targets: unknown chip of cpu 'avx3' (did you mean",
        ),
        ('"flash"', '"flsh"', "variants: unknown variant 'flsh' (did you mean flash?)"),
        ('"flash"]', '"broken"]\n[variant.broken]\ntile = 1', "variant.broken: variant 'broken' cannot be"),
        ('"flash"]', '"flash"', "not valid TOML: "),
        (
            "seq = 128",
            "seq = 128\ncausal = True",
            "not valid TOML: Invalid value (at line 10, column 10)",
        ),
        ('"flash"]', '"flash"]\n[variants.flash]\ntile_q = 16', "not valid TOML: Cannot declare"),
        ('"trial"', '"../trial"', 'name: found "../trial", expected letters, '),
        ("seq = 128", "seq = [128, 64, 128]", "problem.seq: found 128 twice, expected each value once"),
        ("seq = 128", "seq = 128\nwindow = [[8, 0], [8, 0]]", "problem.window: found [8, 0] twice"),
    ],
)
def test_one_line_says_what_is_wrong(file: Path, old: str, new: str, expected: str) -> None:
    text = HEAD + PROBLEM
    assert old in text
    assert error_of(file, text.replace(old, new)).startswith(expected)


def lines_of(file: Path, text: str) -> list[str]:
    """Return the lines for a wrong file, each without the file's name, which it must begin with."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment(file)
    assert all(line.startswith(f"{file}: ") for line in caught.value.lines)
    return [line.removeprefix(f"{file}: ") for line in caught.value.lines]


def test_what_a_table_lacks_is_told_beside_other_mistakes(file: Path) -> None:
    text = HEAD.replace("trial", "my trial") + "repeats = 3\n" + PROBLEM + "[[problems]]\nhead_dim = 64\n"
    lines = lines_of(file, text)
    assert [line.partition(":")[0] for line in lines] == ["name", "problems.0", "problems.0", "repeats"]


def test_wrong_values_are_told_at_once_wherever_they_are(file: Path) -> None:
    text = (
        HEAD
        + PROBLEM
        + """
[[problems]]
heads = 2
head_dim = "wide"
seq = 8
[problems.chek]
[[problems]]
heads = 2
hed_dim = 8
head_dim = 8
[variant.flash]
where = "sequence < 3"
[timing]
budget = 3
min_rounds = "few"
"""
    )
    lines = lines_of(file, text)
    assert {line.partition(": ")[0] for line in lines} == {
        "problems.0.head_dim.0",
        "problems.0.chek",
        "problems.1.hed_dim",
        "variant.flash.where",
        "timing.budget",
        "timing.min_rounds",
    }


def test_problems_and_settings_that_cannot_be_are_told_at_once(file: Path) -> None:
    text = (
        HEAD
        + PROBLEM
        + """
kv_heads = [3, 5]
[problem.variant.flash]
tile_qq = 16
[[problems]]
heads = 2
head_dim = 8
seq = 8
[problems.variant.flash]
tile_kv = [-1]
"""
    )
    lines = lines_of(file, text)
    assert [line.partition(": ")[0] for line in lines] == [
        "problem.variant.flash.tile_qq",
        "problem",
        "problem",
        "problems[0].variant.flash.tile_kv",
    ]


def test_names_that_mean_nothing_are_told_at_once(file: Path) -> None:
    text = HEAD.replace("flash", "flsh") + 'targets = ["cpu", "gpu"]\n' + PROBLEM
    text += "[variant.naive]\n[figures]\nspedup = {}\n"
    lines = lines_of(file, text)
    assert [line.partition(":")[0] for line in lines] == [
        "variants",
        "targets",
        "variant.naive",
        "figures.spedup",
    ]


def test_conditions_that_leave_no_case(file: Path) -> None:
    text = HEAD.replace('"unfused", ', "") + PROBLEM + '[variant.flash]\nwhere = "seq > 128"'
    assert error_of(file, text) == "variant: the conditions 'where' leave no case"


def test_no_problem_at_all(file: Path) -> None:
    assert error_of(file, HEAD) == "no problem is given; expected a table [problem] or [[problems]]"
