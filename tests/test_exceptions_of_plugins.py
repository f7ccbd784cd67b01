"""Exceptions that a plugin's own code can raise: each is one line, but Ctrl-C, which is no fault of it."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from example_cases import example_case

from harness import api, plugins
from harness.__main__ import main
from harness.errors import HarnessError, PluginError, message_of, one_line
from harness.ir_view.subject import build_subject
from harness.problem.found_outputs import require_arrays
from harness.running import worker as worker_module
from harness.running.failure_kinds import failure_kind
from harness.running.worker import Worker
from harness.variants.base import Parameters, Variant
from harness.workers.protocol import RESPONSES, Failed, KeyFound, KeyRequest


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class WithoutTextError(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class WithOddMistakesError(ValueError):
    """Looks like an exception of pydantic's."""

    title = "odd"

    def errors(self) -> list[str]:
        return []


class SpeechlessImportError(ImportError):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class Leaves(BaseException):
    """What no `except Exception` catches."""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (SpeechlessError(), "SpeechlessError: its message cannot be read (RuntimeError)"),
        (WithoutTextError(), "WithoutTextError: its message cannot be read (TypeError)"),
        (WithOddMistakesError("told"), "WithOddMistakesError: told"),
        (ValueError("half \ud800 of it"), "ValueError: half \\ud800 of it"),
        (Leaves("away"), "Leaves: away"),
    ],
)
def test_every_exception_is_one_line(error: BaseException, line: str) -> None:
    assert one_line(error) == line


def test_ctrl_c_while_an_exception_is_read_is_ctrl_c() -> None:
    class SlowError(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    for read in (message_of, one_line):
        with pytest.raises(KeyboardInterrupt):
            read(SlowError())


def test_what_an_exception_means_for_a_case_is_told_without_its_message() -> None:
    assert failure_kind(SpeechlessError()) == "crashed"


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException]]:
    """What the variants `made` and `asked` raise, where they are made and asked what they support."""
    errors: list[BaseException] = []

    class Made:
        parameters = Parameters

        def __init__(self) -> None:
            raise errors[0]

    class Asked:
        parameters = Parameters
        needed: ClassVar[dict[str, object]] = {}

        def supports(self, problem: object, target: str) -> None:
            raise errors[0]

    module = ModuleType("raising_plugins")
    module.Made, module.Asked = Made, Asked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = {
        name: EntryPoint(name, f"raising_plugins:{name.title()}", "harness.variants")
        for name in ("made", "asked")
    }
    found["imported"] = EntryPoint("imported", "imports_nothing:Nothing", "harness.variants")
    registered = plugins._registered
    monkeypatch.setattr(
        plugins, "_registered", lambda kind: {**registered(kind), **(found if kind == "variant" else {})}
    )
    plugins._made.clear()
    yield errors
    plugins._made.clear()


@pytest.mark.parametrize("error", [SpeechlessError(), Leaves("away"), GeneratorExit("away")])
def test_a_variant_that_cannot_be_made_is_one_line(
    raised: list[BaseException], error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    raised.append(error)
    assert main(["list", "variants"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("made "))
    assert line.endswith(f"cannot be made: {one_line(error)}")


@pytest.mark.parametrize("error", [SpeechlessError(), Leaves("away")])
def test_a_variant_that_cannot_say_what_it_supports_is_one_line(
    raised: list[BaseException], error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    raised.append(error)
    assert main(["support", "--variant", "asked", "--target", "cpu:avx2"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    asked = "variant 'asked' (raising_plugins:Asked) cannot say what it supports (supports)"
    assert line == f"harness: {asked}: {one_line(error)}"


def test_a_module_that_cannot_be_imported_is_one_line(
    raised: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: EntryPoint) -> None:
        raise SpeechlessImportError

    monkeypatch.setattr(EntryPoint, "load", fail)
    with pytest.raises(PluginError, match="cannot be imported: its message cannot be read"):
        plugins.variant("imported")


def test_ctrl_c_in_a_plugin_is_ctrl_c(raised: list[BaseException]) -> None:
    raised.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        plugins.variant("made")


def test_a_worker_answers_whatever_a_message_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(case: object) -> KeyFound:
        raise RuntimeError("half \ud800 of it")

    monkeypatch.setattr(worker_module, "find_key", fail)
    answer = Worker().answer(KeyRequest(case=example_case()).model_dump_json())
    assert RESPONSES.validate_json(answer) == Failed(
        failure="crashed", message="RuntimeError: half \\ud800 of it"
    )


@pytest.mark.parametrize("output", [[[1.0]], 1.0, None])
def test_an_output_that_is_no_array_is_told(output: object) -> None:
    message = f"^output: found a {type(output).__name__}, expected an array$"
    with pytest.raises(TypeError, match=message):
        require_arrays({"output": output})
    require_arrays({"output": np.zeros(1)})


def test_an_answer_that_is_no_json_is_a_failure_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "find_key", lambda case: KeyFound(key="k", device="half \ud800 of it"))
    answer = RESPONSES.validate_json(Worker().answer(KeyRequest(case=example_case()).model_dump_json()))
    assert isinstance(answer, Failed)
    assert "surrogates not allowed" in answer.message


def test_a_variant_that_cannot_say_what_chooses_its_parameters_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(self: Variant, case: object) -> str:
        raise Leaves("away")

    monkeypatch.setattr(type(plugins.variant("flash")), "chooser", fail)
    case = example_case().model_copy(update={"variant": "flash"})
    built = SimpleNamespace(case=case, artifact=SimpleNamespace(chosen={"tile_q": 16}))
    message = r"^variant 'flash' \(.*\) cannot say what chooses its parameters: Leaves: away$"
    with pytest.raises(HarnessError, match=message):
        build_subject(built)  # type: ignore[arg-type]


def test_a_target_that_cannot_say_what_it_supports_is_to_blame(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> str:
        raise Leaves("away")

    monkeypatch.setattr(type(plugins.target("cpu")), "why_unsupported", fail)
    assert main(["support", "--variant", "flash", "--target", "cpu:avx2"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    asked = r"target 'cpu' \(\S+\) cannot say what it supports \(why_unsupported\)"
    assert re.fullmatch(f"harness: {asked}: Leaves: away", line)


@pytest.mark.parametrize("error", [SpeechlessError(), Leaves("away")])
def test_attention_raises_errors_of_the_harness_whatever_a_plugin_raises(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **operands: object) -> None:
        raise error

    monkeypatch.setattr(api, "_loaded", lambda choice: fail)
    array = np.zeros((1, 1, 4, 8), np.float32)
    with pytest.raises(HarnessError, match=re.escape(f"flash on cpu: {one_line(error)}")):
        api.attention(array, array, array)
