"""Calls Intel models by the builtin's name, with the constants that its registry entry adds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from model_calls import Argument, Call, ModelLibrary

from harness.emulator.models.intel import MODELS
from harness.emulator.models.intel.mangling import mangled
from harness.emulator.models.model import ModelKind

LANES = 16

TYPES: dict[str, Any] = {
    "c": np.int8,
    "h": np.uint8,
    "s": np.int16,
    "t": np.uint16,
    "i": np.int32,
    "j": np.uint32,
    "l": np.int64,
    "m": np.uint64,
    "Dh": np.float16,
    "f": np.float32,
    "d": np.float64,
}
"""NumPy types by the letters of mangled names."""


def call(
    library: ModelLibrary,
    builtin: str,
    types: Sequence[str],
    arguments: Sequence[Argument] = (),
    result: npt.DTypeLike | None = None,
    **options: Any,
) -> Call:
    """Call the model of a builtin (name and argument types); options are those of `ModelLibrary`'s calls."""
    return call_mangled(library, mangled(builtin, *types), arguments, result, **options)


def call_mangled(
    library: ModelLibrary,
    name: str,
    arguments: Sequence[Argument] = (),
    result: npt.DTypeLike | None = None,
    **options: Any,
) -> Call:
    """Call the model of a builtin by its mangled name."""
    model = MODELS[name]
    assert model.symbol is not None
    constants = [np.int32(constant) for constant in model.constants]
    options = {"warp_size": LANES, **options}
    if model.kind is ModelKind.LANE:
        return library.call_lane(model.symbol, [*arguments, *constants], result, **options)
    return library.call_collective(model.symbol, [*arguments, *constants], result, **options)
