"""A loop as it can be read: each instruction with what it keeps busy, and what follows for the whole."""

from dataclasses import dataclass

from harness.codegen.bounds.instruction import CONTROL, L2, SHARED, Instruction
from harness.codegen.bounds.loop_model import LoopModel
from harness.codegen.bounds.multiprocessor import Multiprocessor


@dataclass(frozen=True)
class ListedInstruction:
    """One line of a loop."""

    text: str
    kind: str
    """The class that it is counted in."""
    costs: Instruction


@dataclass(frozen=True)
class LoopListing:
    """The main loop of a kernel."""

    chip: str
    instructions: tuple[ListedInstruction, ...]
    model: LoopModel
    multiprocessor: Multiprocessor

    def busy(self, instruction: Instruction) -> tuple[str, float]:
        """Return what an instruction keeps busy longest, and for how many cycles.

        Its turn to be issued does not count.  Cycles of a pipe are those of a sub-core, of a memory those of
        the multiprocessor.
        """
        cycles_by_unit = {
            SHARED: instruction.shared_bytes / self.multiprocessor.shared_bytes_per_cycle,
            L2: instruction.l2_bytes / self.multiprocessor.l2_bytes_per_cycle,
        }
        if instruction.pipe is not None:
            cycles_by_unit[instruction.pipe] = instruction.pipe_cycles
        name = max(cycles_by_unit, key=cycles_by_unit.__getitem__)
        return (name, cycles_by_unit[name]) if cycles_by_unit[name] else (CONTROL, 0.0)
