"""Inline PTX: each instruction becomes what stands for it elsewhere, an intrinsic or a masked access.

Triton writes matrix instructions, asynchronous copies and predicated accesses this way.  A piece of assembly
reads and writes registers, the operands `$0`, `$1` …; here they are values, and an instruction that writes
one gives it a new value.  Instructions: PTX ISA, sections 9.7.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import llvm

from harness.codegen.ir.walk import operations_within
from harness.emulator.llvm_text import DEVICE_PREFIX
from harness.emulator.retarget import building as b
from harness.system.errors import BuildError

MATRIX_INTRINSICS = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": "llvm.nvvm.mma.m16n8k16.row.col.bf16",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": "llvm.nvvm.mma.m16n8k8.row.col.tf32",
}
"""The intrinsic of each matrix instruction, which takes its operands in the order A, B, C."""

LANE_INTRINSICS = {"cvt.rna.tf32.f32": ("llvm.nvvm.f2tf32.rna", 32)}
"""The intrinsic of an instruction on one lane's registers, and the bits of its result."""

COPY = re.compile(r"cp\.async\.(ca|cg)\.shared\.global")
MOVE = re.compile(r"mov\.[bu]\d+")
ACCESS = re.compile(r"(ld|st)\.global(?:\.v\d)?\.[bu](\d+)")

_GUARD = re.compile(r"@(!?)(\$\d+)\s+(.*)", re.DOTALL)
_OPERAND = re.compile(r"\{([^}]*)\}|\[([^\]]*)\]|([^,\s]+)")


@dataclass(frozen=True)
class Instruction:
    """An instruction of a piece of assembly."""

    name: str
    operands: tuple[tuple[str, ...], ...]
    """Registers and numbers, those of a vector or an address together."""
    guard: str | None = None
    """The register that says whether it is executed."""


def expand_assembly(function: ir.Operation) -> None:
    """Replace all inline assembly of a function that is known here; the rest stays for others to refuse."""
    for view in list(operations_within(function)):
        operation = view.operation
        if operation.name == "llvm.inline_asm":
            text = ir.StringAttr(operation.attributes["asm_string"]).value
            instructions = list(parsed(text))
            if instructions and all(map(_is_known, instructions)):
                with ir.InsertionPoint(operation), operation.location:
                    _Expansion(operation).run(instructions)


def parsed(text: str) -> Iterator[Instruction]:
    """Yield the instructions of a piece of assembly, in order."""
    for statement in text.split(";"):
        stripped = statement.strip()
        if not stripped:
            continue
        guarded = _GUARD.fullmatch(stripped)
        guard = guarded[1] + guarded[2] if guarded else None
        name, _, rest = (guarded[3] if guarded else stripped).partition(" ")
        operands = [
            tuple(part for part in re.split(r"[,\s+]+", next(filter(None, groups), "")) if part)
            for groups in _OPERAND.findall(rest)
        ]
        yield Instruction(name, tuple(operands), guard)


class _Expansion:
    """One piece of assembly: its registers, and what they hold so far."""

    def __init__(self, operation: ir.Operation) -> None:
        self._operation = operation
        self._result_types = _result_types(operation)
        self._registers: dict[str, ir.Value] = {}
        constraints = ir.StringAttr(operation.attributes["constraints"]).value.split(",")
        inputs = iter(operation.operands)
        for number, constraint in enumerate(part for part in constraints if not part.startswith("~")):
            if constraint.startswith("="):
                continue
            value = next(inputs)
            self._registers[f"${number}"] = value
            if constraint.isdigit():  # begins in the register of an output
                self._registers[f"${constraint}"] = value

    def run(self, instructions: Sequence[Instruction]) -> None:
        """Put operations in the place of the assembly."""
        for instruction in instructions:
            self._expand(instruction)
        if self._result_types:
            self._operation.results[0].replace_all_uses_with(self._result())
        self._operation.erase()

    def _expand(self, instruction: Instruction) -> None:
        name = instruction.name
        if access := ACCESS.fullmatch(name):
            self._access(instruction, access[1], int(access[2]))
        elif copy := COPY.fullmatch(name):
            self._copy(instruction, copy[1])
        elif name in MATRIX_INTRINSICS:
            self._matrix(instruction)
        elif name in LANE_INTRINSICS:
            self._on_lane(instruction)
        else:
            self._move(instruction)

    def _move(self, instruction: Instruction) -> None:
        """`mov`: a register or a number."""
        target, source = (operand[0] for operand in instruction.operands)
        self._registers[target] = self._value(source, self._type_of(target))

    def _matrix(self, instruction: Instruction) -> None:
        """A matrix instruction: D, A, B, C."""
        results, *operands = instruction.operands
        a, second, c = ([self._registers[name] for name in names] for names in operands)
        types = [self._type_of(name) for name in results]
        product = _intrinsic(MATRIX_INTRINSICS[instruction.name], [*a, *second, *c], types)
        for position, (register, kind) in enumerate(zip(results, types, strict=True)):
            self._registers[register] = llvm.extractvalue(kind, product, [position])

    def _on_lane(self, instruction: Instruction) -> None:
        """An instruction from registers to a register."""
        (target,), *operands = instruction.operands
        name, bits = LANE_INTRINSICS[instruction.name]
        arguments = [self._registers[register] for (register,) in operands]
        self._registers[target] = _intrinsic(name, arguments, [b.integer_type(bits)])

    def _copy(self, instruction: Instruction, cache: str) -> None:
        """An asynchronous copy: where to, where from, bytes, and how many of them are read."""
        target, source, (size,), *read = instruction.operands
        name = f"llvm.nvvm.cp.async.{cache}.shared.global.{int(size, 0)}"
        arguments = [self._address(target), self._address(source)]
        if read:
            arguments.append(self._value(read[0][0], b.integer_type(32)))
        b.call(DEVICE_PREFIX + name + (".s" if read else ""), arguments)

    def _access(self, instruction: Instruction, direction: str, bits: int) -> None:
        """A load (`ld`) or store (`st`) of global memory, where its guard says so."""
        element = b.integer_type(bits)
        first, second = instruction.operands
        if direction == "ld":
            held = _vector([self._held(name, element) for name in first], element)
            guard = self._guards(instruction, len(first))
            loaded = llvm.intr_masked_load(held.type, self._address(second), guard, 1, pass_thru=held)
            values = [llvm.extractelement(loaded, b.constant(position)) for position in range(len(first))]
            self._registers |= dict(zip(first, values, strict=True))
        else:
            stored = _vector([self._value(name, element) for name in second], element)
            llvm.intr_masked_store(stored, self._address(first), self._guards(instruction, len(second)), 1)

    def _held(self, register: str, element: ir.Type) -> ir.Value:
        """Return what a register keeps if it is not loaded; undefined, here 0, if nothing was there."""
        return self._registers.get(register) or b.constant(0, ir.IntegerType(element).width)

    def _guards(self, instruction: Instruction, count: int) -> ir.Value:
        """Return a mask of the elements that an instruction accesses: all or none."""
        always = b.constant(1, 1)
        if instruction.guard is None:
            return b.vector([always] * count, always.type)
        value = self._registers[instruction.guard.removeprefix("!")]
        guard = llvm.xor(value, always) if instruction.guard.startswith("!") else value
        return b.vector([guard] * count, guard.type)

    def _address(self, operand: tuple[str, ...]) -> ir.Value:
        register, *offset = operand
        distance = int(offset[0], 0) if offset else 0
        address = self._registers[register]
        return address if distance == 0 else b.offset(address, distance)

    def _value(self, operand: str, kind: ir.Type) -> ir.Value:
        if operand.startswith("$"):
            return self._registers[operand]
        return b.constant(int(operand, 0), ir.IntegerType(kind).width)

    def _type_of(self, register: str) -> ir.Type:
        """Return the type of an output's register."""
        number = int(register.removeprefix("$"))
        return self._result_types[number] if number < len(self._result_types) else b.integer_type(32)

    def _result(self) -> ir.Value:
        values = [
            b.as_type(self._registers[f"${number}"], kind) for number, kind in enumerate(self._result_types)
        ]
        if len(values) == 1:
            return values[0]
        return b.structure(values, self._operation.results[0].type)


def _is_known(instruction: Instruction) -> bool:
    """Whether an instruction can be expanded; only loads and stores may have a guard."""
    name = instruction.name
    if instruction.guard is not None:
        return ACCESS.fullmatch(name) is not None
    patterns = (ACCESS, COPY, MOVE)
    return name in (*MATRIX_INTRINSICS, *LANE_INTRINSICS) or any(p.fullmatch(name) for p in patterns)


def _result_types(operation: ir.Operation) -> list[ir.Type]:
    """Return the types of the outputs: of the elements of the structure that several are in."""
    if not len(operation.results) or str(operation.results[0].type) == "!llvm.void":
        return []
    kind = operation.results[0].type
    listed = re.fullmatch(r"!llvm\.struct<\((.*)\)>", str(kind))
    if listed is None:
        return [kind]
    if "<" in listed[1]:
        raise BuildError(f"the emulator has no model of inline assembly that gives {kind}")
    return [ir.Type.parse(element) for element in listed[1].split(", ")]


def _intrinsic(name: str, arguments: Sequence[ir.Value], results: Sequence[ir.Type]) -> ir.Value:
    """Call an intrinsic by name; several results come as a structure."""
    structure = f"!llvm.struct<({', '.join(map(str, results))})>"
    kind = results[0] if len(results) == 1 else ir.Type.parse(structure)
    return b.call(DEVICE_PREFIX + name, arguments, kind)


def _vector(values: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    return b.vector([b.as_type(value, element) for value in values], element)
