"""`harness support`: what each variant has for each target, as its code decides it."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import plugins
from harness.__main__ import main
from harness.bench.building import support as support_module
from harness.bench.building.support import Support, all_chips, matrix, own_variants
from harness.problem.forms import FORMS
from harness.variants.base import Parameters


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["support", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_every_form_variant_and_chip_has_an_answer() -> None:
    variants, targets = own_variants(), all_chips()
    answers = list(matrix(variants, targets))
    assert len({(a.form, a.variant, a.target) for a in answers}) == len(FORMS) * len(variants) * len(targets)
    assert {"flash", "varlen"} <= set(variants)
    assert {"cpu:avx2", "cuda:sm_80", "rocm:gfx942", "xegpu:bmg"} <= set(targets)
    assert all(answer.reason for answer in answers if answer.is_contradiction)


@pytest.mark.parametrize(("target", "expected"), [("rocm:gfx942", None), ("rocm:gfx1100", "take f16")])
def test_an_answer_is_that_of_the_variant(target: str, expected: str | None) -> None:
    (form,) = (form for form in FORMS if form.name == "f32")
    (answer,) = (a for a in matrix(["flash"], [target]) if a.form == form.name)
    assert answer.reason == plugins.variant("flash").supports(form.problem(), target)
    assert answer.reason is None if expected is None else expected in str(answer.reason)


def test_refusals_have_numbers_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--variant", "flash", "--target", "xegpu:bmg")
    assert "## xegpu:bmg" in lines
    (row,) = (line for line in lines if line.startswith("| f32 |"))
    number = re.fullmatch(r"\| f32 \| no, (\d+) \|", row)
    assert number is not None
    assert f"{number[1]}. dtype f32: matrix instructions of bmg take f16, bf16" in lines


def test_a_form_against_the_variant_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--variant", "varlen", "--target", "cpu:avx2")
    assert "| projections | – |" in lines
    assert "| packed sequences | yes |" in lines


def test_a_promised_form_that_a_build_refuses_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Support("packed sequences", "flash", "cpu", reason=None)
    monkeypatch.setattr(support_module, "matrix", lambda *asked, **how: [said])
    options = ["--check", "--variant", "flash", "--target", "cpu", "--plain", "--out", str(tmp_path)]
    assert main(["support", *options]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 1 case checked, 1 unsupported"


def boom() -> str:
    raise ValueError("boom")


def test_a_faulty_variant_costs_nobody_else_s_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = SimpleNamespace(
        parameters=Parameters, needed={}, is_baseline=False, supports=lambda problem, target: boom()
    )
    load, registered = plugins.load, plugins._registered
    others = {"evil": EntryPoint("evil", "evil:Evil", "harness.variants")}
    monkeypatch.setattr(plugins, "load", lambda kind, name: evil if name == "evil" else load(kind, name))
    monkeypatch.setattr(
        plugins, "_registered", lambda kind: {**registered(kind), **(others if kind == "variant" else {})}
    )
    lines = printed(capsys, "--target", "cpu:avx2")
    (header,) = (line for line in lines if line.startswith("| form"))
    (row,) = (line for line in lines if line.startswith("| causal |"))
    cells = dict(zip(header.split("|"), row.split("|"), strict=True))
    assert cells[" flash "] == " yes "
    number = re.fullmatch(r" faulty, (\d+) ", cells[" evil "])
    assert number is not None
    reason = "variant 'evil' (evil:Evil) cannot say what it supports (supports): ValueError: boom"
    assert f"{number[1]}. {reason}" in lines
