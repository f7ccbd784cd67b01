"""Schedules: the named steps by which a variant turns its payload into tiled kernels."""

import importlib
import re
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.artifact.reached_stages import ReachedStage, reached_stages
from harness.system.errors import raised_in
from harness.targets.base import Stage

if TYPE_CHECKING:
    from mlir import ir


@dataclass(frozen=True)
class Step:
    """One rewrite of a module, in place."""

    name: str
    summary: str
    """One line for `harness list stages`."""
    rewrite: "Callable[[ir.Module], object]"


PAYLOAD = Stage("payload", "what is computed, untiled")
"""The first stage of every schedule, before its steps."""

INITIAL = Stage("initial", "what is computed, untiled, where the target tiles the keys")
OUTER_TILED = Stage("outer-tiled", "batch, head and query tiles, each with all keys")
"""The stages of kernels that have a grid only."""


@dataclass
class StageRecord:
    """The IR after each step and how long it took."""

    texts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    tiles: dict[str, int] = field(default_factory=dict)
    """Sizes of the tiles that steps have made, by parameter."""

    def note(self, name: str, started: float, module: "ir.Module") -> None:
        """Keep the IR as it is now."""
        seconds = self.seconds[name] = time.perf_counter() - started
        text = self.texts[name] = str(module)
        reached_stages.leave(ReachedStage(name=name, suffix="mlir", text=text, seconds=seconds))

    def maker_of(self, size: int) -> str | None:
        """Return the first step with a dimension of this size in the IR; None where the payload has one."""
        is_there = re.compile(rf"[<x]{size}x").search
        first = next((name for name, text in self.texts.items() if is_there(text)), None)
        return None if first == next(iter(self.texts)) else first


_MADE: ContextVar[dict[str, int] | None] = ContextVar("made", default=None)
"""The tiles of the record at hand."""


def note_tiles(**sizes: int) -> None:
    """Note the sizes of tiles that the step at hand makes, by parameter."""
    tiles = _MADE.get()
    if tiles is not None:
        tiles.update(sizes)


REWRITES = (
    "mlir.dialects.builtin",
    "harness.codegen.payloads.attention",
    "harness.codegen.payloads.packed_attention",
    "harness.variants.score_row_schedule",
    "harness.codegen.dialect.verification",
)
"""Modules that are imported when payloads and steps are used; the first, when a module is made."""


def import_rewrites() -> None:
    """Import what payloads and steps use, so that it does not count as the first step's time."""
    for name in REWRITES:
        importlib.import_module(name)


def apply(steps: Sequence[Step], module: "ir.Module", record: StageRecord | None = None) -> None:
    """Run the steps in order; after each, the IR is verified.

    Exceptions have a note that names the step.
    """
    from harness.codegen.dialect.verification import verify

    recorded = _MADE.set(None if record is None else record.tiles)
    try:
        for step in steps:
            started = time.perf_counter()
            with raised_in(f'step "{step.name}"'):
                step.rewrite(module)
                verify(module)
            if record is not None:
                record.note(step.name, started, module)
    finally:
        _MADE.reset(recorded)
