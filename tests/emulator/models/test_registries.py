"""The registries of models: every C function is registered, and chips without models are refused."""

import re

import pytest
from model_calls import EMULATOR

from harness.emulator.devices import device
from harness.emulator.models.amd import models_for
from harness.emulator.models.model import ModelKind

DEFINITION = re.compile(r"^(LANE|COLLECTIVE)_MODEL\((\w+)\)", re.MULTILINE)
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")
CHIPS = {"nvidia": ("sm_80",), "amd": AMD, "intel": ("bmg",)}


@pytest.mark.parametrize("vendor", CHIPS)
def test_every_function_is_registered_as_its_kind(models, vendor):
    sources = sorted((EMULATOR / "models" / vendor).glob("*.c"))
    defined = {
        (symbol, kind.lower())
        for file in sources
        for kind, symbol in DEFINITION.findall(file.read_text("utf-8"))
    }
    registered = [model for chip in CHIPS[vendor] for model in device(chip).models.values()]
    assert {(model.symbol, model.kind) for model in registered if model.symbol} == defined
    assert {model.kind for model in registered if not model.symbol} == {ModelKind.NOTHING}
    for symbol, _ in defined:
        assert models(vendor).loaded[symbol]
    for model in registered:
        assert all(0 <= constant < 2**31 for constant in model.constants)


@pytest.mark.parametrize("chip", ["gfx906", "gfx1030", "gfx1250", "sm_80"])
def test_other_chips_are_refused(chip):
    with pytest.raises(ValueError, match=f"no models for '{chip}'"):
        models_for(chip)
