"""NVIDIA's machine code as `nvdisasm` prints it with its encoding: instructions with their control codes.

Control codes, 21 bits from bit 105 of the 128 of an instruction on, are not documented by NVIDIA.  Where they
lie: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), section 2.1.
"""

import re
from dataclasses import dataclass
from functools import cached_property

FUNCTION = re.compile(r"^\s*\.text\.([^\s:]+):")
LABEL = re.compile(r"^\s*(\.L_\w+):")
INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:(?P<predicate>@!?U?P[0-9T]+)\s+)?(?P<opcode>[A-Z][\w.]*)"
    r"(?P<operands>[^;]*);\s*/\*\s*0x[0-9a-f]{16}\s*\*/"
)
SECOND_HALF = re.compile(r"^\s*/\*\s*0x([0-9a-f]{16})\s*\*/")
TARGET = re.compile(r"(\.L_\w+)")
OPERAND_PREDICATE = re.compile(r"^!?U?P[0-9T]+\s*,")

CONTROL_BIT = 105 - 64
NO_FLAG = 7
FLAGS = 6
ALWAYS, NEVER = "@PT", "@!PT"


@dataclass(frozen=True)
class Control:
    """What an instruction tells the scheduler."""

    stall: int
    """Cycles until the warp's next instruction."""
    write_flag: int | None
    """Barrier that is up until the result is written; None: its latency is fixed, and stalls cover it."""
    read_flag: int | None
    """Barrier that is up until the operands are read."""
    waits: tuple[int, ...]
    """Barriers that have to be down before."""

    @classmethod
    def decoded(cls, second_half: int) -> "Control":
        """Return the control codes in the upper 64 bits of an instruction."""
        bits = second_half >> CONTROL_BIT
        write, read, mask = bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 0x3F
        return cls(
            stall=bits & 0xF,
            write_flag=None if write == NO_FLAG else write,
            read_flag=None if read == NO_FLAG else read,
            waits=tuple(flag for flag in range(FLAGS) if mask >> flag & 1),
        )


@dataclass(frozen=True)
class SassInstruction:
    """One instruction."""

    predicate: str
    """`@P0`, `@!UP1`; empty where it has none."""
    opcode: str
    """With what follows it, `HMMA.16816.F32`."""
    operands: str
    control: Control

    @cached_property
    def name(self) -> str:
        """The opcode alone, `HMMA`."""
        return self.opcode.partition(".")[0]

    @cached_property
    def modifiers(self) -> tuple[str, ...]:
        """What follows the opcode, `16816`, `F32`."""
        return tuple(self.opcode.split(".")[1:])

    @property
    def never_executes(self) -> bool:
        """Whether its predicate is false whatever happens."""
        return self.predicate == NEVER

    @property
    def is_conditional(self) -> bool:
        """Whether it may or may not be executed; a branch may have a second predicate among its operands."""
        return self.predicate not in ("", ALWAYS) or bool(OPERAND_PREDICATE.match(self.operands))

    @property
    def target(self) -> str | None:
        """The label that a branch jumps to."""
        match = TARGET.search(self.operands) if self.name == "BRA" else None
        return None if match is None else match[1]

    @property
    def text(self) -> str:
        """As an assembler would have it."""
        return " ".join(filter(None, (self.predicate, self.opcode, self.operands)))


@dataclass(frozen=True)
class SassFunction:
    """A kernel."""

    name: str
    instructions: list[SassInstruction]
    labels: dict[str, int]
    """The place among the instructions of the one behind each label."""


def parse(disassembly: str) -> dict[str, SassFunction]:
    """Return the functions of a disassembly by name; lines that are none of theirs are passed over."""
    functions: dict[str, SassFunction] = {}
    labels: dict[str, int] = {}
    instructions: list[SassInstruction] = []
    first_line: re.Match[str] | None = None
    for line in disassembly.splitlines():
        if match := FUNCTION.match(line):
            labels, instructions = {}, []
            functions[match[1]] = SassFunction(match[1], instructions, labels)
        elif match := LABEL.match(line):
            labels[match[1]] = len(instructions)
        elif match := INSTRUCTION.match(line):
            first_line = match
        elif first_line is not None and (match := SECOND_HALF.match(line)):
            instructions.append(_instruction(first_line, int(match[1], 16)))
            first_line = None
    return functions


def _instruction(match: re.Match[str], second_half: int) -> SassInstruction:
    return SassInstruction(
        predicate=match["predicate"] or "",
        opcode=match["opcode"],
        operands=match["operands"].strip(),
        control=Control.decoded(second_half),
    )
