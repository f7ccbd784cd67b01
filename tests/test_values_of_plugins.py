"""Values that a plugin gives where others are expected: each is one line, and costs nobody else."""

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
from example_cases import example_case
from pydantic import model_validator

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


class OddTarget:
    """A target that cannot say what it can do."""

    options = TargetOptions
    summary = "an odd target"
    stages = ()

    def chips(self) -> dict[str, str]:
        return {}

    def capabilities(self) -> None:
        return None


class OddVariant:
    """A variant that answers with a number where a reason is expected."""

    parameters = Parameters
    summary = "odd"

    def supports(self, problem: object, target: str) -> int:
        return 5

    def tool_versions(self) -> dict[str, str]:
        return {}


def test_plugins_with_odd_answers_are_faulty(
    registered: Registered, capsys: pytest.CaptureFixture[str]
) -> None:
    registered("target", OddTarget)
    registered("variant", OddVariant)
    main(["doctor"])
    out = capsys.readouterr().out
    odd = [line for line in out.splitlines() if line.split()[:1] == ["odd"]]
    assert ["faulty" in line for line in odd] == [True, True]
    assert "cpu build" in out
    assert "flash" in out


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


def test_an_answer_of_a_target_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    none = TileSizes(query=0, key=16)
    monkeypatch.setattr(type(plugins.target("cpu")), "tile_sizes", lambda *arguments: none)
    message = r"\(tile_sizes\): ValidationError: TileSizes\.query: .*greater than 0, found 0"
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
    registered("variant", type("Odd", (OddVariant,), {"parameters": NoNumber}))
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8)
    with pytest.raises(PluginError, match=r"^NoNumber\.part\S*: .*, found NaN$"):
        complete_case(problem, "odd", "cpu", {}, {})
    with pytest.raises(InputError, match=r"^variant 'odd': part: found Infinity, expected a finite number$"):
        complete_case(problem, "odd", "cpu", {"part": float("inf")}, {})
    with pytest.raises(PluginError, match="found NaN"):  # as of a case whose defaults could not be read
        find_key(CASE.model_copy(update={"variant": "odd"}))
