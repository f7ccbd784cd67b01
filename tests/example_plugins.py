"""Variants and a target without any compiler, for tests of everything around them."""

from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import Field, PositiveInt

from harness import plugins
from harness.system.errors import PluginError
from harness.targets.base import Capability, TargetOptions
from harness.variants.base import Parameters


class TileParameters(Parameters):
    tile_q: PositiveInt | None = None
    tile_kv: PositiveInt = 64
    order: Literal["q-first", "kv-first"] = "q-first"
    unroll: bool = False


class CpuOptions(TargetOptions):
    threads: PositiveInt | Literal["all"] = 1
    width: int = Field(default=256, ge=128)


VARIANTS: dict[str, type[Parameters]] = {
    "flash": TileParameters,
    "naive": TileParameters,
    "unfused": Parameters,
}


def _variant(name: str) -> Any:
    return SimpleNamespace(
        name=name,
        summary=f"the example {name}",
        parameters=VARIANTS[name],
        supports=lambda problem, target: (
            None if name != "unfused" else "install attention-harness[baselines]"
        ),
        tool_versions=lambda: {"tool": "1.0"},
    )


def _target() -> Any:
    return SimpleNamespace(
        name="cpu",
        summary="the example processor",
        options=CpuOptions,
        chips=lambda: {"host": "this one", "avx2": "vectors of 256 bits"},
        capabilities=lambda: [
            Capability(action="build", available=True, detail="always"),
            Capability(action="emulate", available=False, detail="install nothing"),
        ],
    )


def use_example_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace all plugins; the variant `broken` cannot be imported."""
    names = {"variant": [*VARIANTS, "broken"], "target": ["cpu"], "figure": ["throughput", "speedup"]}

    def load(kind: str, name: str) -> Any:
        if name == "broken":
            raise PluginError("variant 'broken' cannot be imported: No module named 'nothing'")
        return _target() if kind == "target" else _variant(name)

    monkeypatch.setattr(plugins, "names", names.__getitem__)
    monkeypatch.setattr(plugins, "load", load)
