"""Plugins that are edited while a process lives, as in a notebook: calls take what they are now."""

import os
import sys
import types
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from harness import api, attention, plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

EDITED = "a_module_that_is_edited"


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module that defines a variant, which is what `flash` is, and may be another later."""
    module = types.ModuleType(EDITED)
    module.Variant = type(plugins.variant("flash"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, EDITED, module)
    registered = plugins._registered
    added = {"edited": EntryPoint("edited", f"{EDITED}:Variant", "harness.variants")}
    monkeypatch.setattr(
        plugins, "_registered", lambda kind: {**registered(kind), **(added if kind == "variant" else {})}
    )
    yield module
    plugins._made.pop(("variant", "edited"), None)


def test_a_plugin_is_made_once_and_again_when_its_module_was_reloaded(edited: types.ModuleType) -> None:
    first = plugins.variant("edited")
    assert plugins.variant("edited") is first
    edited.Variant = type(plugins.variant("naive"))
    assert type(plugins.variant("edited")) is type(plugins.variant("naive"))


def test_sources_that_were_written_again_are_others(example_plugin: Path) -> None:
    case = Case(
        problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="numpy-attention", target="numpy"
    )
    before = api._plugin_sources(case)
    assert {Path(name).name for name, _, _ in before} >= {"variant.py", "target.py"}
    file = next(Path(name) for name, _, _ in before if name.endswith("variant.py"))
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    try:
        assert api._plugin_sources(case) != before
    finally:
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert api._plugin_sources(case.model_copy(update={"variant": "flash", "target": "cpu"})) == ()


def test_a_call_takes_what_was_built_before_unless_sources_are_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array = np.ones((1, 1, 8, 8), np.float32)
    attention(array, array, array)
    misses = api._loaded.cache_info().misses
    attention(array, array, array)
    assert api._loaded.cache_info().misses == misses
    monkeypatch.setattr(api, "_plugin_sources", lambda case: (("edited.py", 1, 1),))
    attention(array, array, array)
    assert api._loaded.cache_info().misses == misses + 1
