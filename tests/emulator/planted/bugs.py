"""A planted bug: a kernel, what is changed in it, and by what the emulator must notice."""

from dataclasses import dataclass

from generated_attention import GeneratedAttention
from hand_written import HandWritten, Run
from iree_attention import IreeAttention

from harness.emulator.launching import LaunchSettings
from planted.ir_edits import Edit

VALUES = "values"
"""Results outside of the tolerance."""

CLAMPED = "clamped"
"""Another number of accesses that hardware clamps."""


@dataclass(frozen=True)
class PlantedBug:
    """A bug in one kernel."""

    kernel: str
    """Name of a hand-written kernel, the chip of IREE's attention, or the variant of a generated one."""
    what: str
    edit: Edit
    caught_by: frozenset[str]
    """Exactly what notices: `values`, `clamped` and kinds of findings."""
    checks_within_warps: bool = False

    @property
    def name(self) -> str:
        """As tests are called."""
        return f"{self.kernel}: {self.what}"


def catchers(run: Run) -> frozenset[str]:
    """Return what has noticed something in a run."""
    caught = {finding.kind.text for finding in run.report.findings}
    if not run.is_right:
        caught.add(VALUES)
    if not run.clamps_as_expected:
        caught.add(CLAMPED)
    return frozenset(caught)


def run_with(bug: PlantedBug, kernel: HandWritten | IreeAttention | GeneratedAttention) -> Run:
    """Run the kernel with the bug in it."""
    settings = LaunchSettings(checks_within_warps=bug.checks_within_warps)
    if isinstance(kernel, GeneratedAttention):
        return kernel.run(kernel.compile(bug.edit(kernel.text)), settings)
    return kernel.run(kernel.compile(bug.edit(kernel.text)), settings)


def bug(kernel: str, what: str, edit: Edit, *caught_by: str, checks_within_warps: bool = False) -> PlantedBug:
    """Return a bug."""
    return PlantedBug(kernel, what, edit, frozenset(caught_by), checks_within_warps)
