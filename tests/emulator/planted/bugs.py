"""A planted bug: a kernel, what is changed in it, and by what the emulator must notice.

`values` are results outside of the oracle's tolerance, `clamped` another number of accesses that hardware
clamps, `order` results that depend on the order of lanes and warps.  Everything else is a kind of finding.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hand_written import Run

from planted.ir_edits import Edit


@dataclass(frozen=True)
class PlantedBug:
    """A bug in one kernel."""

    kernel: str
    """Name of a hand-written kernel, the chip of IREE's attention, or the name of a generated one."""
    what: str
    edit: Edit
    caught_by: frozenset[str]
    """Exactly what notices."""
    checks_within_warps: bool


def planted_into(kernel: str) -> Callable[..., PlantedBug]:
    """Return a function that plants bugs into a kernel."""

    def bug(what: str, edit: Edit, caught_by: str, *, within_warps: bool = False) -> PlantedBug:
        return PlantedBug(kernel, what, edit, frozenset(caught_by.split()), within_warps)

    return bug


def catchers(run: Run) -> frozenset[str]:
    """Return what has noticed something in a run."""
    caught = {finding.kind.text for finding in run.report.findings}
    if not run.is_right:
        caught.add("values")
    if not run.clamps_as_expected:
        caught.add("clamped")
    return frozenset(caught)
