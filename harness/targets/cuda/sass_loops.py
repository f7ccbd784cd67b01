"""The loop that a kernel spends its time in, found in its machine code."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.codegen.bounds.loop_model import Unmodelled
from harness.targets.cuda.nvdisasm import class_of
from harness.targets.cuda.sass import SassFunction, SassInstruction

MATRIX = "matrix"
SPECIAL = "special"


@dataclass(frozen=True)
class Loop:
    """A loop by the places of its first instruction and of the last jump back to it."""

    header: int
    end: int

    def contains(self, other: "Loop") -> bool:
        """Whether another loop lies in this one."""
        return self.header <= other.header and other.end <= self.end and self != other


def loops(function: SassFunction) -> list[Loop]:
    """Return the loops of a function: every jump backwards closes one."""
    ends: dict[int, int] = {}
    for place, instruction in enumerate(function.instructions):
        header = _target(function, instruction)
        if header is not None and header < place:
            ends[header] = place
    return [Loop(header, end) for header, end in sorted(ends.items())]


def steady_state(function: SassFunction) -> tuple[SassInstruction, ...]:
    """Return what a warp executes in one iteration of the loop that works on whole tiles.

    It is the innermost loop with the most matrix instructions; of several, as one for tiles that a mask cuts
    and one for the others, that with the fewest instructions, which masks nothing.

    Raises `Unmodelled` where there is none, or scores are computed in several loops for different ends.
    """
    all_loops = loops(function)
    innermost = [loop for loop in all_loops if not any(loop.contains(other) for other in all_loops)]
    traces = [trace for loop in innermost if matrix_instructions(trace := tuple(_trace(function, loop)))]
    if not traces:
        raise Unmodelled(f"{function.name} has no loop with matrix instructions")
    if len({_of_class(SPECIAL, trace) > 0 for trace in traces}) > 1:
        raise Unmodelled(
            f"{function.name} computes scores in several loops, some of them without exponentials; "
            "the model is of one loop"
        )
    return max(traces, key=lambda trace: (matrix_instructions(trace), -len(trace)))


def matrix_instructions(trace: tuple[SassInstruction, ...]) -> int:
    """Return how many instructions are matrix products."""
    return _of_class(MATRIX, trace)


def _of_class(name: str, trace: tuple[SassInstruction, ...]) -> int:
    return sum(class_of(instruction.name) == name for instruction in trace)


def _trace(function: SassFunction, loop: Loop) -> Iterator[SassInstruction]:
    """Yield one iteration in which no conditional jump forward is taken, as in all but the last ones."""
    place, seen = loop.header, set()
    while place not in seen and place < len(function.instructions):
        seen.add(place)
        instruction = function.instructions[place]
        yield instruction
        target = _target(function, instruction)
        if target == loop.header:
            return
        is_taken = target is not None and not instruction.is_conditional and not instruction.never_executes
        place = target if is_taken and target is not None else place + 1
    raise Unmodelled(f"{function.name}: no way back to the beginning of its loop")


def _target(function: SassFunction, instruction: SassInstruction) -> int | None:
    return None if instruction.target is None else function.labels.get(instruction.target)
