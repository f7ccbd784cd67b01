"""`harness support`: what each variant has for each target, as its code decides it."""

import re
from pathlib import Path

import pytest

from harness import plugins
from harness.__main__ import main
from harness.building import support as support_module
from harness.building.support import Support, all_chips, matrix, own_variants
from harness.problem.forms import FORMS

PAGE = Path(__file__).parents[2] / "docs" / "support.md"


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["support", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert PAGE.read_text().splitlines()[-len(lines) :] == lines


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


def test_a_form_that_contradicts_the_variant_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--variant", "varlen", "--target", "cpu:avx2")
    assert "| projections | – |" in lines
    assert "| packed sequences | yes |" in lines


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--variant", "flsh", "unknown variant 'flsh' (did you mean flash?)"),
        ("--target", "cuda:sm_1", "unknown chip of cuda 'sm_1'"),
    ],
)
def test_an_unknown_name_is_one_line(
    capsys: pytest.CaptureFixture[str], option: str, name: str, message: str
) -> None:
    assert main(["support", option, name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_the_matrix_is_built_and_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("causal", "sinks", "log-sum-exp", "projections")
    monkeypatch.setattr(support_module, "FORMS", tuple(form for form in FORMS if form.name in some))
    options = ["--check", "--variant", "varlen", "--variant", "naive", "--target", "cpu", "--plain"]
    lines = printed(capsys, *options, "--out", str(tmp_path))
    assert lines[-1] == "6 of 6 cases checked, 6 passed"
    (run,) = (tmp_path / "forms").iterdir()
    assert (run / "results.parquet").exists()


def test_a_form_that_a_variant_says_it_has_and_a_build_refuses_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Support("packed sequences", "flash", "cpu", reason=None)
    monkeypatch.setattr("harness.running.form_check.matrix", lambda variants, targets: [said])
    options = ["--check", "--variant", "flash", "--target", "cpu", "--plain", "--out", str(tmp_path)]
    assert main(["support", *options]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 1 cases checked, 1 unsupported"
