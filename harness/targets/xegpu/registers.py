"""An estimate of the registers that a kernel needs: what is live at a time, in the order of the instructions.

A part of a vector, or an element again and again, is what it is taken from under another name.  What all
lanes share is there once.  The driver's compiler orders instructions anew, and needs some of its own.
"""

from collections.abc import Iterable, Iterator

from harness.targets.xegpu.chips import SUB_GROUP
from harness.targets.xegpu.spirv_text import Block, Instruction, Module

PHI = "OpPhi"
OTHER_NAMES = ("OpCompositeExtract", "OpBitcast", "OpVectorShuffle")
"""Instructions that name a part of their first operand, or all of it, where the result is no larger."""
CONSTRUCT, INSERT, SHUFFLE = "OpCompositeConstruct", "OpCompositeInsert", "OpVectorShuffle"
WITHOUT_REGISTERS = ("OpVariable", "OpUndef")
"""An array of a lane stands for registers that its loads have already."""

SHARED_BUILTINS = (
    "SubgroupId",
    "SubgroupSize",
    "NumSubgroups",
    "WorkgroupId",
    "WorkgroupSize",
    "NumWorkgroups",
)
"""Variables of SPIR-V that all lanes of a sub-group read the same from."""
PREFIX = "__spirv_BuiltIn"
OF_LANES = ("OpFunctionCall", "OpGroupNonUniform", "OpSubgroup", "OpLoad", "OpAtomic")
"""How opcodes begin whose results differ between lanes, as far as is known."""


def most_live_registers(module: Module, register_bytes: int) -> dict[str, int]:
    """Return how many registers of so many bytes are live at most, in each kernel by name."""
    return {
        name: -(-_Liveness(module, blocks).most_bits() // (8 * register_bytes))
        for name, blocks in module.functions.items()
    }


class _Liveness:
    """Which values of a function are needed where: the least solution of the flow equations."""

    def __init__(self, module: Module, blocks: list[Block]) -> None:
        """Take the blocks in order."""
        self._blocks = blocks
        self._wholes: dict[str, str] = {}
        self._bits: dict[str, int] = {}
        self._of_lanes = values_of_lanes(module, blocks)
        for block in blocks:
            for instruction in block.instructions:
                self._note(module, instruction)
        self._at_start: dict[str, set[str]] = {block.label: set() for block in blocks}
        self._solve()

    def most_bits(self) -> int:
        """Return the bits of a sub-group that are live at most."""
        return max(
            (
                sum(self._bits[value] for value in live)
                for block in self._blocks
                for live in self._within(block)
            ),
            default=0,
        )

    def _note(self, module: Module, instruction: Instruction) -> None:
        """Note what a result takes, or of what value it is another name."""
        if instruction.result is None:
            return
        lanes = SUB_GROUP if instruction.result in self._of_lanes else 1
        bits, sources = lanes * _bits_of(module, instruction), instruction.inputs
        whole = self._wholes.get(sources[0], sources[0]) if sources else ""
        is_part = instruction.opcode in OTHER_NAMES and bits <= self._bits.get(whole, 0)
        if is_part or _is_splat(instruction) or self._is_first_element(instruction):
            self._wholes[instruction.result] = whole
        else:
            self._bits[instruction.result] = bits

    def _is_first_element(self, instruction: Instruction) -> bool:
        """Return whether an element is put into a vector of nothing, or of constants."""
        if instruction.opcode != INSERT:
            return False
        vector = instruction.inputs[-1]
        return not self._bits.get(vector) and vector not in self._wholes

    def _solve(self) -> None:
        has_changed = True
        while has_changed:
            has_changed = False
            for block in reversed(self._blocks):
                *_, live = self._within(block)
                if live != self._at_start[block.label]:
                    self._at_start[block.label] = live
                    has_changed = True

    def _within(self, block: Block) -> Iterator[set[str]]:
        """Yield what is live behind each instruction of a block, the last one first, and before all."""
        live = self._at_end(block)
        yield set(live)
        for instruction in reversed(block.instructions):
            live.discard(instruction.result or "")
            if instruction.opcode != PHI:
                live |= self._values(instruction.inputs)
            yield set(live)

    def _at_end(self, block: Block) -> set[str]:
        """Return what the blocks behind one need, of which a phi needs what comes from this one."""
        live: set[str] = set()
        for other in self._blocks:
            if other.label in block.successors:
                live |= self._at_start[other.label]
                live |= self._values([value for value, label in _incoming(other) if label == block.label])
        return live

    def _values(self, ids: list[str]) -> set[str]:
        wholes = (self._wholes.get(value, value) for value in ids)
        return {whole for whole in wholes if whole in self._bits}


def _incoming(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each value that a block's phis take, with the label that it comes from."""
    for instruction in block.instructions:
        if instruction.opcode == PHI:
            yield from zip(instruction.inputs[::2], instruction.inputs[1::2], strict=True)


def _is_splat(instruction: Instruction) -> bool:
    """Return whether a result has one element again and again, which takes the registers of that element."""
    if instruction.opcode == CONSTRUCT:
        return len(set(instruction.inputs)) == 1
    taken = {word for word in instruction.operands.split() if word.isdigit()}
    return instruction.opcode == SHUFFLE and len(taken) == 1


def _bits_of(module: Module, instruction: Instruction) -> int:
    kind = module.types.get(instruction.ids[0]) if instruction.ids else None
    if kind is None or instruction.opcode in WITHOUT_REGISTERS:
        return 0
    return kind.components * kind.bits


def values_of_lanes(module: Module, blocks: Iterable[Block]) -> set[str]:
    """Return the values of a function that may differ between the lanes of a sub-group.

    A value differs if it comes from memory, a message, a product, an exchange or a lane's number, or is
    computed from one that does.  Kernels here branch by shared values only, so that what a phi takes depends
    on no lane.
    """
    instructions = [
        instruction
        for block in blocks
        for instruction in block.instructions
        if instruction.result is not None
    ]
    of_lanes: set[str] = set()
    has_changed = True
    while has_changed:
        before = len(of_lanes)
        for instruction in instructions:
            if _is_of_lanes(module, instruction, of_lanes):
                of_lanes.add(instruction.result or "")
        has_changed = len(of_lanes) > before
    return of_lanes


def _is_of_lanes(module: Module, instruction: Instruction, of_lanes: set[str]) -> bool:
    if instruction.opcode == "OpLoad":
        name = module.names.get(instruction.inputs[0], "")
        return name.removeprefix(PREFIX) not in SHARED_BUILTINS
    return instruction.opcode.startswith(OF_LANES) or not of_lanes.isdisjoint(instruction.inputs)
