"""Values that a plugin gives where others are expected: each is one line, and costs nobody else."""

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_cases import example_case
from pydantic import ConfigDict, Field, model_validator

from harness import api, plugins
from harness.__main__ import main
from harness.building.case_build import find_key
from harness.errors import HarnessError, InputError, PluginError
from harness.experiment.case_settings import checked, complete_case, concrete
from harness.problem.attention_problem import AttentionProblem
from harness.targets.base import TileSizes
from harness.variants.base import Parameters

Registered = Callable[[str, Any], None]


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registered]:
    """Registers a class as the plugin `odd` of a kind."""
    module = ModuleType("odd_plugins")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found: dict[str, EntryPoint] = {}
    known = plugins._registered
    monkeypatch.setattr(
        plugins,
        "_registered",
        lambda kind: {**known(kind), **({"odd": found[kind]} if kind in found else {})},
    )

    def register(kind: str, plugin: Any) -> None:
        setattr(module, kind, plugin)
        found[kind] = EntryPoint("odd", f"odd_plugins:{kind}", f"harness.{kind}s")
        plugins._made.clear()

    yield register
    plugins._made.clear()


def variant(**values: Any) -> Any:
    """Return a class of a variant that has these answers."""
    answers = {"supports": None, "tool_versions": {}, **values}
    own = {"summary": answers["summary"]} if "summary" in answers else {}
    return type(
        "Odd",
        (),
        {
            "parameters": answers.get("parameters", Parameters),
            "supports": lambda self, problem, target: answers["supports"],
            "tool_versions": lambda self: answers["tool_versions"],
            **own,
        },
    )


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"summary": "odd", "supports": 5},
    ],
)
def test_a_variant_with_odd_answers_is_faulty(
    registered: Registered, answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    registered("variant", variant(**answers))
    main(["doctor"])
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["odd"])
    assert "faulty" in line
    assert "flash" in out


class ListsByDefault(Parameters):
    tiles: list[int] = Field(default=[16, 16])


def test_a_setting_that_no_case_can_hold_is_refused(registered: Registered) -> None:
    registered("variant", variant(parameters=ListsByDefault))
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8)
    with pytest.raises(PluginError, match=r"^ListsByDefault.tiles\S*: .*, found \[16, 16\]"):
        complete_case(problem, "odd", "cpu", {}, {})


def raising(error: Exception) -> type[Parameters]:
    """Return parameters whose validator raises."""

    class Raising(Parameters):
        tile: int = 1

        @model_validator(mode="after")
        def _raise(self) -> Any:
            raise error

    return Raising


class Unserialisable(Parameters):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    tile: Any = object()
    other: int = 1


def test_whatever_a_validator_raises_is_one_line(registered: Registered) -> None:
    registered("variant", type("Odd", (), {"parameters": raising(ZeroDivisionError("odd"))}))
    with pytest.raises(PluginError, match="Raising cannot check its settings: ZeroDivisionError: odd"):
        checked("variant", "odd", {}, "")


def test_settings_that_are_none_are_told(
    registered: Registered, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "Unserialisable has a value that no case can hold"
    registered("variant", type("Odd", (), {"parameters": Unserialisable}))
    with pytest.raises(HarnessError, match=message):
        concrete(checked("variant", "odd", {}, ""))
    experiment = tmp_path / "odd.toml"
    experiment.write_text(
        'name = "odd"\nquestion = "?"\nvariants = ["odd"]\ntargets = ["cpu"]\n'
        "[problem]\nseq = 8\nhead_dim = 8\nheads = 1\n[variant.odd]\nother = [1, 2]\n"
    )
    assert main(["check", str(experiment), "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


CASE = example_case().model_copy(update={"variant": "flash", "target": "cpu"})


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        (
            "device",
            None,
            r"\(device\): ValidationError: .*valid string, found None",
        ),
        (
            "tile_sizes",
            TileSizes(query=0, key=16),
            r"\(tile_sizes\): ValidationError: TileSizes\.query: .*greater than 0, found 0",
        ),
        ("tile_sizes", (8, 16), r"\(tile_sizes\): ValidationError: TileSizes: .*found \(8, 16\)"),
        ("why_unsupported", False, r"\(why_unsupported\): ValidationError: .*valid string, found False"),
        ("key_splits", 0, r"\(key_splits\): ValidationError: .*greater than 0, found 0"),
    ],
)
def test_an_answer_of_a_target_that_is_none_is_one_line(
    monkeypatch: pytest.MonkeyPatch, method: str, answer: object, message: str
) -> None:
    monkeypatch.setattr(type(plugins.target("cpu")), method, lambda *arguments: answer)
    with pytest.raises(PluginError, match=rf"^target 'cpu' \(\S+\) cannot say .*{message}"):
        find_key(CASE)


def test_a_variant_whose_supports_fails_is_told_with_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(plugins.variant("flash")), "supports", lambda *arguments: arguments[1].nope)
    expected = r"^variant 'flash' \(\S+\) cannot say what it supports \(supports\): AttributeError: .*nope"
    with pytest.raises(PluginError, match=expected):
        find_key(CASE)


def test_attention_raises_errors_of_the_harness_whatever_a_plugin_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object, **operands: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(api, "_loaded", lambda choice: fail)
    array = np.zeros((1, 1, 4, 8), np.float32)
    with pytest.raises(HarnessError, match="flash on cpu: ZeroDivisionError: odd"):
        api.attention(array, array, array)


class NoNumber(Parameters):
    part: float = float("nan")


def test_a_number_that_no_case_can_hold_is_refused(registered: Registered) -> None:
    registered("variant", variant(parameters=NoNumber))
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8)
    with pytest.raises(PluginError, match=r"^NoNumber\.part\S*: .*, found NaN$"):
        complete_case(problem, "odd", "cpu", {}, {})
    with pytest.raises(InputError, match=r"^variant 'odd': part: found Infinity, expected a finite number$"):
        complete_case(problem, "odd", "cpu", {"part": float("inf")}, {})
    with pytest.raises(PluginError, match="found NaN"):  # as of a case whose defaults could not be read
        find_key(CASE.model_copy(update={"variant": "odd"}))
