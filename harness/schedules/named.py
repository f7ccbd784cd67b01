"""A schedule with a name, and the IR after each of its steps."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import InputError
from harness.variants.schedule import Step, apply

if TYPE_CHECKING:
    from mlir import ir

PAYLOAD = "payload"
"""Name of the first stage: what is computed, untiled."""


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
        yield PAYLOAD, module
        for step in self.steps:
            apply([step], module)
            yield step.name, module


def stage_texts(schedule: NamedSchedule, **sizes: int) -> Iterator[tuple[str, str]]:
    """Yield the name and IR of each stage, payload first."""
    from harness.mlir_context import mlir_context

    with mlir_context():
        for name, module in schedule.stages(**sizes):
            yield name, str(module)
