"""What targets answer of a case, checked: what is no answer is one line, which names target and method."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import Field, PositiveInt, TypeAdapter

from harness import plugins
from harness.plugins import chip_of, name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.base import GridOrder, Target, TileSizes

Answer = TypeVar("Answer")

Words = Annotated[str, Field(pattern=r"\S")]
NAME: TypeAdapter[str] = TypeAdapter(Words)
REASON: TypeAdapter[str | None] = TypeAdapter(Words | None)
PARTS: TypeAdapter[int | None] = TypeAdapter(PositiveInt | None)
SIZES: TypeAdapter[TileSizes] = TypeAdapter(TileSizes)
ORDER: TypeAdapter[GridOrder | None] = TypeAdapter(GridOrder | None)


def device_of(case: Case) -> str:
    """Return the name of the device that a case's code is for here."""
    what = "which device its code is for (device)"
    return _answer(case.target, what, NAME, lambda target: target.device_of(case))


def sizes_for(case: Case) -> TileSizes:
    """Return the tile sizes that a case's target prefers for it."""
    what = "which tiles suit a case (tile_sizes)"
    return _answer(case.target, what, SIZES, lambda target: target.sizes_for(case))


def key_splits(case: Case, workgroups: int, key_tiles: int) -> int:
    """Return in how many parts a target goes over so many tiles of keys, see `Target.key_splits`."""
    what, chip = "in how many parts it goes over keys (key_splits)", chip_of(case.target)
    asked = _answer(case.target, what, PARTS, lambda target: target.key_splits(chip, workgroups, key_tiles))
    return asked or 1


def why_unsupported(name: str, problem: AttentionProblem) -> str | None:
    """Return None, or why a target takes no tiled kernels of a problem."""
    what = "what it supports (why_unsupported)"
    return _answer(name, what, REASON, lambda target: target.why_unsupported(chip_of(name), problem))


def grid_order(name: str) -> GridOrder | None:
    """Return how a target numbers the points of a grid where a parameter leaves it open."""
    what = "how it numbers the points of a grid (grid_order)"
    return _answer(name, what, ORDER, lambda target: target.grid_order)


def _answer(name: str, what: str, expected: TypeAdapter[Answer], ask: Callable[[Target], object]) -> Answer:
    with plugins.asked("target", name_of(name), what):
        return expected.validate_python(ask(plugins.target(name)))
