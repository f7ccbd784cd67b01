"""Schedules: the named steps by which a variant turns its payload into tiled kernels."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir


@dataclass(frozen=True)
class Step:
    """One rewrite of a module, in place."""

    name: str
    summary: str
    """One line for `harness list stages`."""
    rewrite: "Callable[[ir.Module], object]"


@dataclass
class StageRecord:
    """The IR after each step and how long it took."""

    texts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, started: float, module: "ir.Module") -> None:
        """Keep the IR as it is now."""
        self.seconds[name] = time.perf_counter() - started
        self.texts[name] = str(module)


def apply(steps: Sequence[Step], module: "ir.Module", record: StageRecord | None = None) -> None:
    """Run the steps in order; after each, the IR is verified."""
    from harness.dialect.verification import verify

    for step in steps:
        started = time.perf_counter()
        step.rewrite(module)
        verify(module)
        if record is not None:
            record.note(step.name, started, module)
