"""`covering`: few cases of other experiments that show what all of them show."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from example_plugins import use_example_plugins

from harness.bench.building.support import matrix, why_unsupported
from harness.experiment.covering import features
from harness.experiment.experiment import Experiment, load_experiment
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.forms import FORMS, PLAIN, Form, forms_of
from harness.system.errors import InputError

FOLDER = Path(__file__).parents[2] / "experiments"

WHOLE = """
name = "whole"
question = "Is all right?"
variants = ["flash", "naive", "unfused"]

[variant.naive]
order = ["q-first", "kv-first"]

[[problems]]
heads = 2
head_dim = 64
seq = [64, 512]
causal = [false, true]

[[problems]]
dtype = ["f16", "bf16"]
heads = 4
kv_heads = [1, 2]
head_dim = 32
seq_q = 5
seq_kv = 77
causal = true
softcap = ["none", 20.0]
"""

QUICK = """
name = "quick"
question = "Is a little of all right?"
variants = ["flash", "naive", "unfused"]
covering = ["whole"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_example_plugins(monkeypatch)
    (tmp_path / "whole.toml").write_text(WHOLE)
    return tmp_path


def quick(folder: Path, text: str = QUICK) -> Experiment:
    (folder / "quick.toml").write_text(text)
    return load_experiment(folder / "quick.toml")


def of(variant: str, cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if case.variant == variant]


def shown(cases: Iterable[Case]) -> set[str]:
    return set().union(*map(features, cases))


def test_few_cases_show_what_all_show_and_small_ones_go_first(folder: Path) -> None:
    whole, chosen = load_experiment(folder / "whole.toml").cases(), quick(folder).cases()
    assert [case.id for case in whole if case in chosen] == [case.id for case in chosen]
    for variant in ("flash", "naive"):
        assert shown(of(variant, chosen)) == shown(of(variant, whole))
        assert len(of(variant, chosen)) < len(of(variant, whole)) / 3
    assert 512 not in {case.problem.seq_q for case in chosen}
    assert {case.params["order"] for case in of("naive", chosen)} == {"q-first", "kv-first"}


def test_a_variant_that_supports_nothing_has_one_case_that_says_why(folder: Path) -> None:
    assert len(of("unfused", quick(folder).cases())) == 1


def test_its_own_variants_conditions_and_check_hold(folder: Path) -> None:
    own = 'variant = {flash = {where = "not causal"}}\ncheck = {distributions = ["uniform"]}\n'
    experiment = quick(folder, QUICK.replace(', "naive", "unfused"', "") + own)
    assert {(case.variant, case.problem.causal) for case in experiment.cases()} == {("flash", False)}
    assert experiment.check_of(experiment.cases()[0]).distributions == ("uniform",)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('["whole"]', '["whle"]', "quick.toml: covering: whle: no such experiment; "),
        ('["whole"]', '["quick"]', "quick.toml: covering: {}/quick.toml has this key, too; "),
        ('"unfused"]', '"unfused", "broken"]', 'variants: found "broken", of which whole has no case'),
        ('["whole"]', '["whole"]\ntarget = {cpu = {threads = 2}}', "quick.toml: found covering, which takes"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, old: str, new: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        quick(folder, QUICK.replace(old, new))
    (line,) = caught.value.lines
    assert expected.format(folder) in line


def test_the_problem_of_a_form_is_of_it() -> None:
    assert [form.name for form in FORMS if form.name not in forms_of(form.problem())] == []
    assert forms_of(Form("plain", {}).problem()) == ["full"]


def test_a_form_is_that_of_a_problem_of_other_sizes_that_has_more() -> None:
    def names(**fields: object) -> set[str]:
        problem = Form("any", {**PLAIN, "seq_q": 24, "seq_kv": 40, "bias": True, **fields}).problem()
        return set(forms_of(problem))

    assert names() == {"full", "additive bias"}
    assert names(window=(3, None)) == {"additive bias"}
    ragged = {"additive bias", "causal", "causal, fewer queries than keys", "ragged lengths"}
    assert names(causal=True) == ragged
    assert names(causal=True, window=(3, None)) == {*ragged, "window, causal"}
    assert names(seq_q=1, kv_heads=1) == {
        "full",
        "additive bias",
        "decode",
        "decode, grouped heads",
        "multi-query",
    }


Cell = tuple[str, str, str]


def cells(cases: Iterable[Case]) -> dict[Cell, list[Case]]:
    """Return the cases of each cell of the support matrix: of a variant, a target and a form."""
    found: dict[Cell, list[Case]] = {}
    for case in cases:
        for form in forms_of(case.problem):
            found.setdefault((case.variant, case.target, form), []).append(case)
    return found


@cache
def is_supported(problem: AttentionProblem, variant: str, target: str) -> bool:
    return why_unsupported(problem, variant, target) is None


def has_supported(cases: Iterable[Case]) -> bool:
    return any(is_supported(case.problem, case.variant, case.target) for case in cases)


def test_the_quick_matrix_has_every_cell_that_the_whole_ones_have() -> None:
    quick = load_experiment(FOLDER / "correctness_quick.toml")
    whole = [case for name in quick.covering for case in load_experiment(FOLDER / f"{name}.toml").cases()]
    assert {case.target for case in whole} == set(quick.targets)
    assert {case.variant for case in whole} == set(quick.variants)
    assert len(quick.cases()) < len(whole) / 4
    of_quick = cells(quick.cases())
    lacking = [
        cell
        for cell, cases in cells(case for case in whole if not is_refused_when_called(case)).items()
        if not has_supported(of_quick.get(cell, ())) and has_supported(cases)
    ]
    assert lacking == []
    answers = matrix(["flash"], ["cpu:avx2", "cuda:sm_80"])
    named = {(answer.variant, answer.target.removesuffix(":avx2"), answer.form) for answer in answers}
    assert len(named & of_quick.keys()) > 50, "cells are those of harness support"


def is_refused_when_called(case: Case) -> bool:
    """Return whether IREE refuses what a mask leaves of a problem: some queries see no key."""
    p = case.problem
    others = p.causal or p.window is not None or p.kv_lengths is not None
    return case.variant.startswith("iree") and p.mask and others
