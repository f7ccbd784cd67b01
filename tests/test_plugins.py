"""Plugins whose own code fails: only who asks for them is told, in one line."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from pydantic import computed_field

from harness import plugins
from harness.__main__ import main
from harness.bench.running.failure_kinds import failure_of
from harness.cli import doctor
from harness.experiment.case_settings import checked, complete_case
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import InputError, PluginError
from harness.system.status import Status
from harness.variants.base import Parameters


class RaisesWhenMade:
    """A variant that cannot be made."""

    def __init__(self) -> None:
        raise ZeroDivisionError("no luck")


class NoVariant:
    """What is declared as a variant and is none."""

    summary = "none"


class Faulty:
    """A variant of which little can be read."""

    parameters = Parameters
    is_baseline = True

    @property
    def summary(self) -> str:
        raise KeyError("summary")

    @property
    def stages(self) -> Any:
        raise RuntimeError("no stages")

    def supports(self, problem: object, target: str) -> str | None:
        raise OSError("cannot tell")


class ComputedParameters(Parameters):
    """Parameters of which one follows from another, which has no default."""

    tile: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def padded(self) -> int:
        """The tile and what it is padded by."""
        return self.tile + 1


class Computes(Faulty):
    """A variant whose parameters compute one more value."""

    parameters = ComputedParameters


@pytest.fixture(autouse=True)
def faulty_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = {
        name: EntryPoint(name, f"{__name__}:{kind.__name__}", "harness.variants")
        for name, kind in (
            ("made", RaisesWhenMade),
            ("faulty", Faulty),
            ("none", NoVariant),
            ("computes", Computes),
        )
    }
    registered = plugins._registered
    targets = {
        "number": EntryPoint("number", "builtins:int", "harness.targets"),
    }
    added = {"variant": found, "target": targets}
    monkeypatch.setattr(plugins, "_registered", lambda kind: {**registered(kind), **added.get(kind, {})})
    plugins.load.cache_clear()
    yield
    plugins.load.cache_clear()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("made", "cannot be made: ZeroDivisionError: no luck"),
        ("faulty", "cannot say its summary: KeyError: 'summary'"),
    ],
)
def test_the_list_of_variants_says_what_is_wrong(
    name: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "variants"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines[name].endswith(expected)
    assert "flash" in lines


def test_what_is_no_variant_says_so() -> None:
    message = r"variant 'none' \(test_plugins:NoVariant\): NoVariant is no variant: parameters: found null"
    with pytest.raises(PluginError, match=message):
        checked("variant", "none", {}, "")


def test_what_parameters_compute_is_no_parameter() -> None:
    case = complete_case(AttentionProblem(heads=1, seq_q=64, head_dim=16), "computes", "cpu", {"tile": 3}, {})
    assert case.params == {"tile": 3}


@pytest.mark.parametrize(
    "command",
    [
        ["ir", "none"],
        ["ir", "flash", "--target", "number"],
        ["ir", "flash", "--target", "number:chip"],
        ["support", "--variant", "none"],
        ["support", "--target", "number"],
    ],
)
def test_a_command_that_names_a_plugin_of_another_kind_is_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"harness: (variant|target) .* is no (variant|target): .*\n", captured.err)


def test_the_doctor_goes_on() -> None:
    findings = {finding.name: finding for finding in doctor.variant_findings()}
    faulty = doctor.State.FAULTY
    assert (findings["faulty"].state, findings["faulty"].detail) == (faulty, "OSError: cannot tell")
    assert findings["made"].state is faulty
    assert "cannot be made: ZeroDivisionError: no luck" in findings["made"].detail
    assert findings["none"].state is faulty
    (number,) = [finding for finding in doctor.target_findings() if finding.name == "number"]
    assert (number.state, number.detail.count("\n")) == (faulty, 0)
    assert findings["flash"].state is doctor.State.OK


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import a_package_that_is_not_installed", "No module named 'a_package_that_is_not_installed'"),
        ("def broken(:", "SyntaxError: invalid syntax"),
        ("", "AttributeError: module 'broken_plugin' has no attribute 'Broken'"),
    ],
)
def test_a_variant_that_cannot_be_imported_fails_to_build(
    text: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_plugin", raising=False)
    entry = EntryPoint("broken", "broken_plugin:Broken", "harness.variants")
    monkeypatch.setattr(plugins, "_registered", lambda kind: {"broken": entry})
    with pytest.raises(PluginError, match=re.escape(f"cannot be imported: {reason}")) as raised:
        plugins.variant("broken")
    assert failure_of(raised.value).status is Status.BUILD_FAILED


def test_variants_that_serve_an_experiment_are_not_offered_to_users() -> None:
    not_offered = {"twin", "slowed-twin", "padded"}
    assert not_offered <= set(plugins.names("variant"))
    assert set(plugins.names("variant")) - set(plugins.suggested("variant")) == not_offered
    with pytest.raises(InputError) as raised:
        plugins.check_name("variant", "twinn")
    assert "twin," not in str(raised.value)


def test_lists_go_on_beside_a_target_that_cannot_be_imported(
    example_plugin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["list", "targets"], ["list", "stages"], ["support", "--target", "cpu"]):
        assert main(command) == 0
    out = capsys.readouterr().out
    assert "not-importable" in out
    assert "cannot be imported: No module named 'a_package_that_is_not_installed'" in out
    assert "cpu vectorized" in out


def test_versions_of_plugins_are_those_of_what_declares_them(example_plugin: Path) -> None:
    assert plugins.plugin_versions("attention-harness") == {"attention-example": "1.0.0"}
    assert "attention-harness" in plugins.plugin_versions("another")
