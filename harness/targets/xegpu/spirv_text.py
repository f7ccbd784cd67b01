"""SPIR-V's assembly as functions, blocks and instructions, as far as counting them needs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

INSTRUCTION = re.compile(r"^\s*(?:(%\w+) = )?(Op\w+)(.*)$")
NAME = re.compile(r'OpName (%\w+) "(.*)"')
ID = re.compile(r"%\w+")

BRANCHES = ("OpBranch", "OpBranchConditional", "OpSwitch")


@dataclass(frozen=True)
class Instruction:
    """One instruction of a function."""

    result: str | None
    opcode: str
    operands: str
    """Everything behind the opcode: the type of the result comes first where there is one."""

    @property
    def ids(self) -> list[str]:
        """The ids among the operands, in order."""
        return ID.findall(self.operands)

    @property
    def inputs(self) -> list[str]:
        """The ids of values that it takes, and of functions, variables and constants."""
        return self.ids[1:] if self.result is not None else self.ids


@dataclass
class Block:
    """Instructions between a label and a branch."""

    label: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def successors(self) -> list[str]:
        """Labels of the blocks that may follow."""
        last = self.instructions[-1]
        if last.opcode not in BRANCHES:
            return []
        return last.ids if last.opcode == "OpBranch" else last.ids[1:]


@dataclass(frozen=True)
class Type:
    """What a value of a type takes."""

    components: int
    bits: int
    """Of a component; of a pointer 64."""


@dataclass
class Module:
    """The functions of a module that have bodies, by name, and what ids stand for."""

    functions: dict[str, list[Block]] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    arrays: set[str] = field(default_factory=set)
    """Arrays of a lane's own, under all names."""


def parsed(assembly: str) -> Module:
    """Return the module of an assembly."""
    module = Module()
    names = module.names
    blocks: list[Block] = []
    for line in assembly.splitlines():
        named = NAME.search(line)
        if named is not None:
            names[named[1]] = named[2]
        match = INSTRUCTION.match(line)
        if match is None:
            continue
        instruction = Instruction(match[1], match[2], match[3])
        if instruction.opcode.startswith("OpType"):
            _note_type(instruction, module.types)
        elif instruction.opcode == "OpFunction":
            blocks = []
            module.functions[names.get(instruction.result or "", instruction.result or "")] = blocks
        elif instruction.opcode == "OpLabel":
            blocks.append(Block(instruction.result or ""))
        elif blocks and instruction.opcode != "OpFunctionEnd":
            blocks[-1].instructions.append(instruction)
            is_same = instruction.opcode == "OpBitcast" and instruction.inputs[0] in module.arrays
            if instruction.opcode == "OpVariable" or is_same:
                module.arrays.add(instruction.result or "")
    module.functions = {name: body for name, body in module.functions.items() if body}
    return module


def innermost_loops(blocks: list[Block]) -> Iterator[list[Block]]:
    """Yield the loops of a function that have no other loop in them, each as its blocks in order.

    An edge to a block that stands before, or to the block itself, closes a loop.
    """
    places = {block.label: place for place, block in enumerate(blocks)}
    match: dict[str, set[str]] = {}
    for place, block in enumerate(blocks):
        for label in block.successors:
            if places[label] <= place:
                match[label] = match.get(label, set()) | _natural_loop(blocks, label, block.label)
    for start, inside in match.items():
        if not any(other in inside for other in match if other != start):
            yield [block for block in blocks if block.label in inside]


def _natural_loop(blocks: list[Block], start: str, end: str) -> set[str]:
    """Return the labels of the blocks that reach the end of a loop without its beginning, and of that."""
    inside, waiting = {start, end}, [end]
    while waiting:
        label = waiting.pop()
        if label == start:
            continue
        before = {block.label for block in blocks if label in block.successors} - inside
        inside |= before
        waiting += before
    return inside


def _note_type(instruction: Instruction, types: dict[str, Type]) -> None:
    """Add a type of numbers, of vectors of them, or of pointers."""
    numbers = [int(word) for word in instruction.operands.split() if word.isdigit()]
    name = instruction.result or ""
    if instruction.opcode in ("OpTypeInt", "OpTypeFloat"):
        types[name] = Type(1, numbers[0])
    elif instruction.opcode == "OpTypeBool":
        types[name] = Type(1, 1)
    elif instruction.opcode == "OpTypePointer":
        types[name] = Type(1, 64)
    elif instruction.opcode == "OpTypeVector":
        types[name] = Type(numbers[-1], types[instruction.ids[0]].bits)
