"""Names that several distributions declare: who asks for one is told by whom, and nobody else is hurt."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness import plugins
from harness.__main__ import main
from harness.cli import doctor
from harness.errors import PluginError
from harness.experiment.case_settings import complete_case
from harness.experiment.experiment import parse_experiment
from harness.problem.attention_problem import AttentionProblem

Install = Callable[[str, str, str, str], None]

MODULE = """
from harness.variants.unfused import Unfused

class Mine(Unfused):
    summary = "mine"
"""
PROBLEM = AttentionProblem(heads=1, seq_q=8, head_dim=8)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a distribution that declares a plugin."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(distribution: str, kind: str, name: str, value: str) -> None:
        folder = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[harness.{kind}s]\n{name} = {value}\n")
        (tmp_path / f"{value.partition(':')[0]}.py").write_text(MODULE)
        forget_plugins()
        plugins._tell_once.cache_clear()

    yield make
    monkeypatch.undo()
    forget_plugins()


@pytest.fixture
def twice(install: Install, tmp_path: Path) -> str:
    """The message for the variant `einsum`, which two distributions declare."""
    install("first-lab", "variant", "einsum", "first_lab:Mine")
    install("second-lab", "variant", "einsum", "second_lab:Mine")
    first, second = (f"{lab}-lab 1.0 in {tmp_path} ({lab}_lab:Mine)" for lab in ("first", "second"))
    ends = (f"by {first} and by {second}; keep one", f"by {second} and by {first}; keep one")
    with pytest.raises(PluginError) as raised:
        plugins.variant("einsum")
    assert str(raised.value) in [f"variant 'einsum' is declared 2 times: {end}" for end in ends]
    return str(raised.value)


def test_others_are_used(twice: str) -> None:
    assert complete_case(PROBLEM, "flash", "cpu", {}, {}).variant == "flash"
    assert plugins.variant("flash").name == "flash"


def test_lists_show_it_beside_others(twice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "variants"]) == 0
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()}
    assert lines["einsum"] == twice
    assert "flash" in lines


def test_the_doctor_calls_it_faulty(twice: str) -> None:
    findings = {finding.name: finding for finding in doctor.variant_findings()}
    assert (findings["einsum"].state, findings["einsum"].detail) == (doctor.State.FAULTY, twice)
    assert findings["flash"].state is doctor.State.OK


def test_support_is_told_of_others_and_refused_for_it(twice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["support", "--target", "cpu"]) == 0
    assert "| flash" in capsys.readouterr().out
    assert main(["support", "--variant", "einsum", "--target", "cpu"]) != 0
    assert capsys.readouterr().err == f"harness: {twice}\n"


def test_an_experiment_has_the_cases_of_others(twice: str) -> None:
    text = 'name = "a"\nquestion = "?"\nvariants = ["einsum", "flash"]\n'
    problem = "[problem]\nheads = 1\nseq = 8\nhead_dim = 8"
    cases = parse_experiment(text + problem, Path("a.toml")).cases()
    assert [case.variant for case in cases] == ["einsum", "flash"]


def test_a_built_in_one_stays_what_its_name_means(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("a-lab", "variant", "flash", "a_lab:Mine")
    assert type(plugins.variant("flash")).__module__ == "harness.variants.flash"
    (line,) = capsys.readouterr().err.splitlines()
    place = f"a-lab 1.0 in {tmp_path} (a_lab:Mine)"
    assert line == f"harness: variant 'flash' is the built-in one; not used: that of {place}"


def test_what_two_distributions_declare_alike_is_one(install: Install) -> None:
    install("first-lab", "variant", "einsum", "first_lab:Mine")
    install("second-lab", "variant", "einsum", "first_lab:Mine")
    assert plugins.variant("einsum").summary == "mine"


@pytest.mark.parametrize("kind", ["target", "figure"])
def test_targets_and_figures_alike(install: Install, kind: str) -> None:
    install("first-lab", kind, "odd", "first_lab:Mine")
    install("second-lab", kind, "odd", "second_lab:Mine")
    with pytest.raises(PluginError, match=f"^{kind} 'odd' is declared 2 times: by "):
        plugins.load(kind, "odd")
