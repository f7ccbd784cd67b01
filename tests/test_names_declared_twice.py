"""Names that several distributions declare: who asks for one is told by whom, and nobody else is hurt."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness import plugins
from harness.__main__ import main
from harness.experiment.experiment import parse_experiment
from harness.system.errors import PluginError

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


def test_who_asks_is_told_by_whom(install: Install) -> None:
    install("first-lab", "variant", "einsum", "first_lab:Mine")
    install("second-lab", "variant", "einsum", "second_lab:Mine")
    with pytest.raises(PluginError, match="variant 'einsum' is declared 2 times: by") as raised:
        plugins.variant("einsum")
    assert all(f"{lab}-lab ({lab}_lab:Mine)" in str(raised.value) for lab in ("first", "second"))


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
