"""A schedule with a name, and the IR after each of its steps."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import InputError
from harness.variants.schedule import PAYLOAD, StageRecord, Step, apply, import_rewrites

if TYPE_CHECKING:
    from mlir import ir


@dataclass(frozen=True)
class NamedSchedule:
    """A known form: a payload and the rewrites that turn it into loops over tiles.

    The last step leaves upstream dialects only, so that the result can be executed.
    """

    name: str
    summary: str
    """One line."""
    source: str
    """Where the form comes from."""
    payload: "Callable[..., ir.Module]"
    """Takes the sizes as keywords; an MLIR context is current."""
    sizes: Mapping[str, int]
    """A small problem."""
    steps: tuple[Step, ...]
    why_wrong: str | None = None
    """Why the form computes something else than the payload; None if it does not.  A wrong form is there to
    be looked at, never to be timed."""

    def build(self, **sizes: int) -> "ir.Module":
        """Return the payload; sizes that are not given are those of the small problem."""
        unknown = sorted(set(sizes) - set(self.sizes))
        if unknown:
            known = ", ".join(self.sizes)
            raise InputError(f"schedule {self.name}: unknown size {unknown[0]!r}; expected some of {known}")
        return self.payload(**{**self.sizes, **sizes})

    def stages(self, **sizes: int) -> "Iterator[tuple[str, ir.Module]]":
        """Yield the name of each stage and the module, which the next stage then changes."""
        module = self.build(**sizes)
        yield PAYLOAD.name, module
        for step in self.steps:
            apply([step], module)
            yield step.name, module


def record_stages(schedule: NamedSchedule, **sizes: int) -> StageRecord:
    """Return the IR of each stage, payload first, and how long it took, imports left out."""
    from harness.dialect.context import mlir_context

    import_rewrites()
    record = StageRecord()
    with mlir_context():
        started = time.perf_counter()
        module = schedule.build(**sizes)
        record.note(PAYLOAD.name, started, module)
        apply(schedule.steps, module, record)
    return record
