"""What a device intrinsic becomes in the emulator."""

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
