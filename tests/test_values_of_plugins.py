"""Values that a plugin gives where others are expected: each is one line, and costs nobody else."""

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
from example_cases import example_case
from pydantic import Field, model_validator

from harness import plugins
from harness.__main__ import main
from harness.bench.building.case_build import find_key
from harness.experiment.case_settings import checked, complete_case
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import InputError, PluginError
from harness.targets.base import TargetOptions, TileSizes
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
        plugins.load.cache_clear()

    yield register
    plugins.load.cache_clear()


def target(**values: Any) -> Any:
    """Return a class of a target that has these answers."""
    answers = {"chips": {}, "capabilities": [], "stages": (), **values}
    return type(
        "Odd",
        (),
        {
            "options": answers.get("options", TargetOptions),
            "summary": "an odd target",
            "stages": answers["stages"],
            "chips": lambda self: answers["chips"],
            "capabilities": lambda self: answers["capabilities"],
        },
    )


def test_chips_that_are_no_texts_are_told(registered: Registered, capsys: pytest.CaptureFixture[str]) -> None:
    registered("target", target(chips={"fast": None}))
    with pytest.raises(PluginError, match="cannot say its chips"):
        plugins.chips("odd")
    assert main(["list", "targets"]) == 0
    out = capsys.readouterr().out
    assert "cannot say its chips" in out
    assert "cpu:avx2" in out


class AnyThreads(TargetOptions):
    threads: int | str | bool = 1


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


def test_plugins_with_odd_answers_are_faulty(
    registered: Registered, capsys: pytest.CaptureFixture[str]
) -> None:
    registered("target", target(capabilities=None))
    registered("variant", variant(summary="odd", supports=5))
    main(["doctor"])
    out = capsys.readouterr().out
    odd = [line for line in out.splitlines() if line.split()[:1] == ["odd"]]
    assert ["faulty" in line for line in odd] == [True, True]
    assert "cpu build" in out
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


def test_whatever_a_validator_raises_is_one_line(registered: Registered) -> None:
    registered("variant", type("Odd", (), {"parameters": raising(ZeroDivisionError("odd"))}))
    with pytest.raises(PluginError, match="Raising cannot check its settings: ZeroDivisionError: odd"):
        checked("variant", "odd", {}, "")


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
    ],
)
def test_an_answer_of_a_target_that_is_none_is_one_line(
    monkeypatch: pytest.MonkeyPatch, method: str, answer: object, message: str
) -> None:
    monkeypatch.setattr(type(plugins.target("cpu")), method, lambda *arguments: answer)
    with pytest.raises(PluginError, match=rf"^target 'cpu' \(\S+\) cannot say .*{message}"):
        find_key(CASE)


@pytest.mark.parametrize("method", ["tile_sizes", "device"])
def test_a_method_of_a_target_that_raises_is_named(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(type(plugins.target("cpu")), method, fail)
    with pytest.raises(PluginError, match=rf"^target 'cpu' .*\({method}\): ZeroDivisionError: division"):
        find_key(CASE)


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
