"""What a device intrinsic becomes in the emulator."""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class ModelKind(StrEnum):
    """How the runtime calls a model."""

    LANE = "lane"
    """Once per lane (GPU thread), which goes on with the result at once; may wait at a barrier."""
    COLLECTIVE = "collective"
    """Once for all lanes of a warp (wave, sub-group) that have met at the same call."""
    NOTHING = "nothing"
    """Not at all: the intrinsic only orders memory or hints, and the emulator runs in program order."""


@dataclass(frozen=True)
class Model:
    """The software model of one device intrinsic."""

    kind: ModelKind
    symbol: str | None = None
    """The model's C function; none where nothing happens."""
    constants: tuple[int, ...] = ()
    """What the intrinsic's name says, like a shape or a type: passed after the call's own arguments, each
    as a 32-bit integer in an argument slot of its own."""


def lane(symbol: str, *constants: int) -> Model:
    """Return a model that is called for each lane alone."""
    return Model(ModelKind.LANE, symbol, constants)


def collective(symbol: str, *constants: int) -> Model:
    """Return a model that is called once for the lanes of a warp."""
    return Model(ModelKind.COLLECTIVE, symbol, constants)


def nothing() -> Model:
    """Return the model of an intrinsic that has no effect here."""
    return Model(ModelKind.NOTHING)


def expanded(pattern: str) -> list[str]:
    """Return the names that a pattern stands for, whose alternatives are in braces: `f2i.{rn,rz}`."""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


@dataclass(frozen=True)
class Names:
    """How a vendor's intrinsics and the C functions of their models are named."""

    intrinsics: str
    """What the names of intrinsics begin with."""
    symbols: str

    def own(self, make: Callable[[str], Model], patterns: str) -> dict[str, Model]:
        """Return models with functions named as their intrinsics are: `nvvm_f2i_rn` of `f2i.rn`."""
        names = [name for pattern in patterns.split() for name in expanded(pattern)]
        return {self.intrinsics + name: make(self.symbols + name.lower().replace(".", "_")) for name in names}

    def others(self, make: Callable[[str], Model], symbols: Mapping[str, str]) -> dict[str, Model]:
        """Return models with functions named otherwise; of fewer symbols each serves several intrinsics."""
        return {
            self.intrinsics + name: make(self.symbols + symbol)
            for pattern, function in symbols.items()
            for name, symbol in zip(expanded(pattern), itertools.cycle(expanded(function)), strict=False)
        }

    def without_effect(self, patterns: str) -> dict[str, Model]:
        """Return models of intrinsics that do nothing here."""
        return {
            self.intrinsics + name: nothing() for pattern in patterns.split() for name in expanded(pattern)
        }
