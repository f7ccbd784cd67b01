"""Which device code is for, and with it the width of a warp and the models of its intrinsics."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.emulator.models.model import Model
from harness.system.errors import InputError


class Vendor(StrEnum):
    """Whose back end the device code was made for."""

    NVIDIA = "nvidia"
    AMD = "amd"
    INTEL = "intel"


@dataclass(frozen=True)
class Device:
    """A device that the emulator can stand in for."""

    vendor: Vendor
    chip: str
    """As the back end names it: `sm_80`, `gfx942`, `bmg`."""
    warp_size: int
    """Lanes that execute together: a warp, wave or sub-group."""
    models: Mapping[str, Model]
    """The model of each device intrinsic, by the intrinsic's name."""


def device(chip: str) -> Device:
    """Return the device of a chip's name; raises `InputError` for a chip that has no models."""
    if re.fullmatch(r"sm_\d+[af]?", chip):
        from harness.emulator.models import nvidia

        return Device(Vendor.NVIDIA, chip, 32, nvidia.MODELS)
    if re.fullmatch(r"gfx[0-9a-f]+", chip):
        from harness.emulator.models import amd

        wave = 64 if chip.startswith("gfx9") else 32
        return Device(Vendor.AMD, chip, wave, amd.models_for(chip))
    if chip in ("pvc", "bmg"):
        from harness.emulator.models import intel

        return Device(Vendor.INTEL, chip, 16, intel.MODELS)
    raise InputError(f"chip {chip!r}: expected sm_…, gfx…, pvc or bmg")
