"""Plugins that are edited while a process lives, as in a notebook: calls take what they are now."""

import importlib
import os
import re
import sys
import types
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgotten_plugins import forget_plugins

import harness
from harness import api, attention, plugins
from harness.digest import source_stamps
from harness.errors import HarnessError, InputError
from harness.plugin_code import packages_of
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


def stamps(case: Case) -> tuple[tuple[str, int, int], ...]:
    return source_stamps(packages_of(case.variant, case.target))


def test_sources_that_were_written_again_are_others(example_plugin: Path) -> None:
    case = Case(
        problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="numpy-attention", target="numpy"
    )
    before = stamps(case)
    assert {Path(name).name for name, _, _ in before} >= {"variant.py", "target.py"}
    file = next(Path(name) for name, _, _ in before if name.endswith("variant.py"))
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    try:
        assert stamps(case) != before
    finally:
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert stamps(case.model_copy(update={"variant": "flash", "target": "cpu"})) == ()


def test_a_call_takes_what_was_built_before_unless_sources_are_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array = np.ones((1, 1, 8, 8), np.float32)
    attention(array, array, array)
    misses = api._loaded.cache_info().misses
    attention(array, array, array)
    assert api._loaded.cache_info().misses == misses
    monkeypatch.setattr(api, "source_stamps", lambda packages: (("edited.py", 1, 1),))
    attention(array, array, array)
    assert api._loaded.cache_info().misses == misses + 1


PLUGIN = """
import json
import numpy as np
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.variants.base import Parameters, Variant

FACTOR = 1.0
MORE = 0.0

class Constant(Variant):
    name = "constant"
    summary = "an output of one value, which the build decides"
    parameters = Parameters

    def supports(self, problem, target):
        return None

    def source(self, case):
        return "the same text whatever it computes"

    def build(self, case, key, folder):
        (folder / "value.json").write_text(json.dumps(FACTOR))
        return Artifact(case=case, key=key, executor="native", loader="an_edited_plugin:load")

class Call(BoundCall):
    def __init__(self, problem, inputs, value):
        self.problem, self.inputs, self.value = problem, inputs, value
        self.result = np.empty(problem.output_shape, inputs.q.dtype)

    def poison(self):
        self.result.fill(np.nan)

    def run(self):
        self.result.fill(self.value)

    def output(self):
        return self.result

class Code(Executable):
    def __init__(self, problem, value):
        self.problem, self.value = problem, value

    def bind(self, inputs):
        return Call(self.problem, inputs, self.value)

def load(artifact, folder):
    return Code(artifact.case.problem, json.loads((folder / "value.json").read_text()) + MORE)
"""
IMPORTING = PLUGIN.replace("FACTOR = 1.0", "from an_edited_helper import FACTOR")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a distribution that declares the variant `constant`, of the module `an_edited_plugin`."""
    described = tmp_path / "edited-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: edited\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[harness.variants]\nconstant = an_edited_plugin:Constant\n")
    (tmp_path / "an_edited_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    forget_plugins()
    yield tmp_path
    forget_plugins()
    for name in ("an_edited_plugin", "an_edited_helper"):
        sys.modules.pop(name, None)


def value() -> float:
    array = np.ones((1, 1, 8, 8), np.float32)
    return float(np.asarray(attention(array, array, array, variant="constant")).mean())


def write(site: Path, *edits: tuple[str, str], module: str = "an_edited_plugin") -> None:
    """Write the plugin's module with these replacements."""
    text = PLUGIN
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (site / f"{module}.py").write_text(text)


def reload(*modules: str) -> None:
    for name in modules:
        importlib.reload(sys.modules[name])


def outdated(*modules: str) -> Any:
    """Return a context in which an error is to name these modules, and no others."""
    its, it = ("its", "it") if len(modules) == 1 else ("their", "them")
    line = f"{', '.join(modules)}: {its} code was edited since this process imported {it}; reload {it} "
    return pytest.raises(HarnessError, match=f"^{re.escape(line)}")


def test_a_helper_that_a_plugin_imports_since_it_was_edited_is_its_code_too(site: Path) -> None:
    assert value() == 1.0
    (site / "an_edited_helper.py").write_text("FACTOR = 2.0\n")
    (site / "an_edited_plugin.py").write_text(IMPORTING)
    with outdated("an_edited_plugin"):
        value()
    reload("an_edited_plugin")
    assert value() == 2.0
    (site / "an_edited_helper.py").write_text("FACTOR = 3.00\n")
    with outdated("an_edited_helper"):
        value()
    reload("an_edited_helper", "an_edited_plugin")
    assert value() == 3.0


def test_what_a_reloaded_module_loads_is_loaded_anew(site: Path) -> None:
    assert value() == 1.0
    write(site, ("MORE = 0.0", "MORE = 100.0"))
    with outdated("an_edited_plugin"):
        value()
    reload("an_edited_plugin")
    assert value() == 101.0


def test_what_new_code_builds_is_not_loaded_by_old(site: Path) -> None:
    edits = [("FACTOR = 1.0", "UNIT = 1.0\nFACTOR = 2.0 * UNIT"), (" + MORE", " / UNIT")]
    write(site, *edits)
    assert value() == 2.0
    write(site, *edits, ("UNIT = 1.0", "UNIT = 1000.0"))
    with outdated("an_edited_plugin"):
        value()
    write(site, *edits)
    assert value() == 2.0


def test_an_edited_module_that_only_the_build_imports_is_built_with(site: Path) -> None:
    lazy = ("    (folder /", "    from an_edited_helper import FACTOR\n        (folder /")
    write(site, lazy)
    for factor in ("1.0", "22.0"):
        (site / "an_edited_helper.py").write_text(f"FACTOR = {factor}\n")
        assert value() == float(factor)
    assert "an_edited_helper" not in sys.modules


@pytest.mark.parametrize("method", ["run", "bind"])
def test_an_edited_module_that_was_imported_in_a_call_is_told(
    method: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may keep nothing of what it compiled: then only what was noted in time tells."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    place = {"run": "self.result.fill(self.value", "bind": "return Call(self.problem, inputs, self.value"}[
        method
    ]
    lazy = f"from an_edited_helper import FACTOR\n        {place} * FACTOR"
    write(site, (place, lazy))
    (site / "an_edited_helper.py").write_text("FACTOR = 1.0\n")
    assert value() == 1.0
    (site / "an_edited_helper.py").write_text("FACTOR = 22.0\n")
    with outdated("an_edited_helper"):
        value()
    reload("an_edited_helper")
    assert value() == 22.0


SETTING = "class Own(Parameters):\n    block: int = 64\n\nclass Constant"
WITH_SETTING = [("class Constant", SETTING), ("= Parameters\n", "= Own\n")]
SMALL = AttentionProblem(heads=1, seq_q=8, head_dim=8)


def test_defaults_of_code_that_was_edited_since_are_not_built_with(site: Path) -> None:
    write(site, *WITH_SETTING)
    assert harness.build(SMALL, variant="constant").case.params == {"block": 64}
    write(site, *WITH_SETTING, ("= 64", "= 32\n    lanes: int = 1"))
    for params in (None, {"lanes": 2}):
        with outdated("an_edited_plugin"):
            harness.build(SMALL, variant="constant", params=params)
    reload("an_edited_plugin")
    params = harness.build(SMALL, variant="constant", params={"lanes": 2}).case.params
    assert params == {"block": 32, "lanes": 2}


def test_what_was_built_by_other_code_is_to_be_built_again(site: Path) -> None:
    built = harness.build(SMALL, variant="constant")
    built.executable()
    write(site, ("MORE = 0.0", "MORE = 100.0"))
    with outdated("an_edited_plugin"):
        built.executable()
    reload("an_edited_plugin")
    with pytest.raises(InputError, match=r"an_edited_plugin was edited since this was built: build it again"):
        built.executable()
    harness.build(SMALL, variant="constant").executable()


EXPERIMENT = """
name = "edited"
question = "Which code runs?"
variants = ["constant"]

[problem]
heads = 1
head_dim = 8
seq = 8
"""


def test_a_run_measures_nothing_where_its_settings_are_those_of_old_code(site: Path) -> None:
    (site / "edited.toml").write_text(EXPERIMENT)
    (site / "lanes.toml").write_text(f"{EXPERIMENT}\n[variant.constant]\nlanes = 2\n")
    write(site, *WITH_SETTING)
    plugins.variant("constant")
    write(site, *WITH_SETTING, ("= 64", "= 32\n    lanes: int = 1"))
    for name in ("edited", "lanes"):
        with outdated("an_edited_plugin"):
            harness.run(site / f"{name}.toml", out=site / "results", timed=False)
    assert not (site / "results").exists()
    reload("an_edited_plugin")
    frame = harness.run(site / "edited.toml", out=site / "results", timed=False)
    assert list(frame["param.block"]) == [32]
