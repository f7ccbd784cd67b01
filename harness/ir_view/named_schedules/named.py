"""A schedule with a name, and the IR after each of its steps."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.variants.schedule import PAYLOAD, StageRecord, Step, apply, import_rewrites


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
    payload: Callable[..., ir.Module]
    """Takes the sizes as keywords; an MLIR context is current."""
    sizes: Mapping[str, int]
    """A small problem."""
    steps: tuple[Step, ...]
    why_wrong: str | None = None
    """Why the form computes something else than the payload; None if it does not.  A wrong form is there to
    be looked at, never to be timed."""

    def build(self, **sizes: int) -> ir.Module:
        """Return the payload; sizes that are left out are those of the small problem."""
        return self.payload(**{**self.sizes, **sizes})

    def record_stages(self, **sizes: int) -> StageRecord:
        """Return the IR of each stage, payload first, and how long it took, imports left out."""
        import_rewrites()
        record = StageRecord()
        with mlir_context():
            started = time.perf_counter()
            module = self.build(**sizes)
            record.note(PAYLOAD.name, started, module)
            apply(self.steps, module, record)
        return record
