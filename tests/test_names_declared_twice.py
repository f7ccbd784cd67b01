"""Names that several distributions declare: who asks for one is told by whom, and nobody else is hurt."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness import plugins
from harness.__main__ import main
from harness.errors import InputError, PluginError
from harness.experiment.experiment import parse_experiment

Install = Callable[[str, str, str, str], None]

MODULE = """
from harness.variants.unfused import Unfused

class Mine(Unfused):
    summary = "mine"
"""


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

    yield make
    monkeypatch.undo()
    forget_plugins()


@pytest.mark.parametrize("kind", ["variant", "target", "figure"])
def test_who_asks_is_told_by_whom(install: Install, kind: str) -> None:
    install("first-lab", kind, "einsum", "first_lab:Mine")
    install("second-lab", kind, "einsum", "second_lab:Mine")
    with pytest.raises(PluginError) as raised:
        plugins.load(kind, "einsum")
    first, second = (f"{lab}-lab 1.0 ({lab}_lab:Mine)" for lab in ("first", "second"))
    ends = (f"by {first} and by {second}; keep one", f"by {second} and by {first}; keep one")
    assert str(raised.value) in [f"{kind} 'einsum' is declared 2 times: {end}" for end in ends]


def test_others_are_used(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("first-lab", "variant", "einsum", "first_lab:Mine")
    install("second-lab", "variant", "einsum", "second_lab:Mine")
    assert main(["list", "variants"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "is declared 2 times" in lines["einsum"]
    assert "flash" in lines
    text = 'name = "a"\nquestion = "?"\nvariants = ["einsum", "flash"]\n'
    problem = "[problem]\nheads = 1\nseq = 8\nhead_dim = 8"
    cases = parse_experiment(text + problem, Path("a.toml")).cases()
    assert [case.variant for case in cases] == ["einsum", "flash"]


def test_what_two_distributions_declare_alike_is_one(install: Install) -> None:
    install("first-lab", "variant", "einsum", "first_lab:Mine")
    install("second-lab", "variant", "einsum", "first_lab:Mine")
    assert plugins.variant("einsum").summary == "mine"


def test_an_entry_point_that_names_no_class_is_told(install: Install) -> None:
    install("a-lab", "variant", "einsum", "a_lab")
    with pytest.raises(PluginError, match=r"^variant 'einsum': found 'a_lab', expected module:Class$"):
        plugins.variant("einsum")


def test_entry_points_that_cannot_be_read_are_told(install: Install) -> None:
    install("a-lab", "variant", "einsum", "a_lab:Mine\nthis is no entry point")
    with pytest.raises(InputError, match="entry points of an installed distribution cannot be read: "):
        plugins.names("variant")
