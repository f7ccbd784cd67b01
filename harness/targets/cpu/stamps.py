"""The stage `stamped`: a kernel reads the cycle counter between its parts, and adds up what each takes.

Only `harness ir --time` has it, between `bufferized` and `threaded`: no kernel that is timed or checked has
stamps.  A part is a loop, or a branch, in the body of the grid or of a loop over key tiles; what stands
before it in that body counts for it.  Sums lie at the beginning of the scratch memory.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, llvm, memref

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import functions_of, operations_within
from harness.targets.cpu.grid import grid_loop
from harness.targets.cpu.matrix_units import VDPBF16PS
from harness.targets.cpu.pair_instructions import DOT

SCORES, MAXIMUM, EXPONENTIAL = "scores, QKᵀ", "maximum", "exponential"
RESCALE, VALUES, PACKING = "rescale", "values, PV", "packing and moving"
DIVISION, OTHER = "division", "else"

ELEMENTWISE = frozenset(
    f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "negf")
) | {"math.fma"}
EXP2 = "math.exp2"


@dataclass(frozen=True)
class Work:
    """What one execution of a part does, in operations on single elements."""

    operations: int = 0
    """Multiply-adds, and other arithmetic of f32, each of which takes a turn of the same units."""
    exponentials: int = 0
    unit_products: int = 0
    """Multiply-adds by an instruction of a matrix unit."""

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.operations + other.operations,
            self.exponentials + other.exponentials,
            self.unit_products + other.unit_products,
        )

    def times(self, count: int) -> "Work":
        """Return the work of so many executions."""
        return Work(count * self.operations, count * self.exponentials, count * self.unit_products)


@dataclass(frozen=True)
class Part:
    """A part of a kernel."""

    kernel: str
    name: str
    work: Work | None
    """None where the number of operations depends on data."""


@dataclass(frozen=True)
class _Stamped:
    """An operation after which the counter is read."""

    operation: ir.OpView
    number: int


SLOTS_OF_A_PART = 2
"""Cycles, and how often it was executed."""
TOTAL = "all"
"""The name of a kernel's first part: a point of the grid as a whole."""


def stamp_parts(module: ir.Module) -> list[Part]:
    """Let every kernel of a bufferized module add up cycles and executions of its parts, in place.

    Returns the parts in the order of their slots: kernel by kernel, the whole first.
    """
    parts: list[Part] = []
    places: list[tuple[ir.OpView, list[tuple[ir.Block, list[_Stamped]]], int]] = []
    for function in functions_of(module):
        kernel = ir.StringAttr(function.name).value
        grid = grid_loop(function.entry_block)
        body = function.entry_block if grid is None else grid.regions[0].blocks[0]
        first = len(parts)
        parts.append(Part(kernel, TOTAL, None))
        blocks = list(_stamped_blocks(body, kernel, parts, first))
        places.append((function, blocks, first))
    for function, blocks, first in places:
        _insert(function, blocks, first, len(parts))
    return parts


def _stamped_blocks(
    block: ir.Block, kernel: str, parts: list[Part], first: int
) -> Iterator[tuple[ir.Block, list[_Stamped]]]:
    """Yield a block and those of loops with parts in it, each with the operations that are its parts."""
    stamped = []
    is_exponential = False
    for operation in _loops_and_branches(block):
        if _has_parts(operation):
            yield from _stamped_blocks(ForLoop(operation).body, kernel, parts, first)
            stamped.append(_Stamped(operation, -1))
            continue
        name = _name(operation, is_exponential)
        is_exponential |= name == EXPONENTIAL
        part = Part(kernel, name, work_of(operation))
        if part not in parts[first:]:
            parts.append(part)
        stamped.append(_Stamped(operation, first + parts[first:].index(part)))
    yield block, stamped


def _has_parts(operation: ir.OpView) -> bool:
    """Whether a loop goes over tiles: its body has several loops or branches."""
    if operation.name != "scf.for":
        return False
    return len(_loops_and_branches(ForLoop(operation).body)) > 1


def _loops_and_branches(block: ir.Block) -> list[ir.OpView]:
    """Return the operations of a block that have operations in them, but for the end of a parallel loop."""
    ends = "scf.forall.in_parallel"
    return [each for each in block.operations if len(each.operation.regions) and each.name != ends]


def _name(operation: ir.OpView, is_after_exponential: bool) -> str:
    """Return what a loop or branch is there for, by what it reads and computes."""
    nested = list(operations_within(operation))
    names = {each.name for each in nested}
    if any(map(_is_by_unit, nested)):
        return VALUES if is_after_exponential else SCORES
    if "vector.contract" in names:
        read = {_buffer(each.operands[0]) for each in nested if each.name == "vector.transfer_read"}
        is_of_values = "value" in read or ("key" not in read and is_after_exponential)
        return VALUES if is_of_values else SCORES
    if EXP2 in names:
        return EXPONENTIAL
    if any(each.name == "vector.multi_reduction" and "maximumf" in str(each) for each in nested):
        return MAXIMUM
    if operation.name == "scf.if" and "arith.mulf" in names:
        return RESCALE
    if "arith.divf" in names:
        return DIVISION
    return OTHER if names & ELEMENTWISE or "arith.select" in names else PACKING


def _is_by_unit(operation: ir.OpView) -> bool:
    """Whether an operation is the instruction of vectors of pairs."""
    return operation.name == DOT


def _buffer(value: ir.Value) -> str | None:
    """Return the name of the argument that a memory reference is, if it is one of a kernel."""
    if not isinstance(value.owner, ir.Block):
        return None
    function = value.owner.owner.opview
    if function.operation.name != "func.func":
        return None
    attributes = function.arg_attrs[ir.BlockArgument(value).arg_number]
    attributes = ir.DictAttr(attributes)
    return ir.StringAttr(attributes["harness.buffer"]).value if "harness.buffer" in attributes else None


def work_of(operation: ir.OpView) -> Work | None:
    """Return the arithmetic of one execution of a loop; None where its length is not known here."""
    if operation.name == "scf.if":
        return None
    if len(operation.operation.regions):
        count = _executions(operation)
        if count is None:
            return None
        total = Work()
        for nested in operation.operation.regions[0].blocks[0].operations:
            work = work_of(nested)
            if work is None:
                return None
            total += work
        return total.times(count)
    return _work_of_one(operation)


def _executions(operation: ir.OpView) -> int | None:
    """Return how often a loop's body is executed, or None."""
    if operation.name == "scf.forall":
        return math.prod(ir.DenseI64ArrayAttr(operation.attributes["staticUpperBound"]))
    if operation.name != "scf.for":
        return 1
    first, end, step = map(constant_index, ForLoop(operation).bounds)
    return None if first is None or end is None or step is None else -(-(end - first) // step)


def _work_of_one(operation: ir.OpView) -> Work:
    if operation.name == "vector.contract":
        shapes = [ir.VectorType(value.type).shape for value in list(operation.operands)[:2]]
        reduced = 1
        for size, kind in zip(_sizes(operation, shapes), operation.attributes["iterator_types"], strict=True):
            reduced *= size if "reduction" in str(kind) else 1
        return Work(operations=reduced * _elements(operation.results[0]))
    if _is_by_unit(operation):
        return Work(unit_products=VDPBF16PS.k * _elements(operation.results[0]))
    if operation.name == "vector.multi_reduction":
        return Work(operations=_elements(operation.operands[0]))
    if operation.name == EXP2:
        return Work(exponentials=_elements(operation.results[0]))
    return Work(operations=_elements(operation.results[0])) if operation.name in ELEMENTWISE else Work()


def _sizes(contraction: ir.OpView, shapes: list[list[int]]) -> list[int]:
    """Return the size of each of a contraction's loops."""
    maps = [ir.AffineMapAttr(attribute).value for attribute in contraction.attributes["indexing_maps"]]
    sizes = [1] * maps[0].n_dims
    for shape, mapping in zip(shapes, maps, strict=False):
        for size, expression in zip(shape, mapping.results, strict=True):
            sizes[ir.AffineDimExpr(expression).position] = size
    return sizes


def _elements(value: ir.Value) -> int:
    return math.prod(ir.VectorType(value.type).shape) if isinstance(value.type, ir.VectorType) else 1


def _insert(
    function: ir.OpView, blocks: list[tuple[ir.Block, list[_Stamped]]], first: int, count: int
) -> None:
    """Read the counter where each block begins and after each of its parts, and add the differences."""
    with ir.Location.unknown():
        with ir.InsertionPoint.at_block_begin(function.entry_block):
            kind = ir.MemRefType.get([SLOTS_OF_A_PART * count], ir.IntegerType.get_signless(64))
            sums = memref.AllocOp(kind, [], []).memref
        for number, (block, stamped) in enumerate(blocks):
            is_whole = number == len(blocks) - 1
            inside = next(operation for operation in block.operations if operation.operation != sums.owner)
            with ir.InsertionPoint(inside):
                began = latest = _cycles()
            for part in stamped:
                with ir.InsertionPoint(_after(part.operation)):
                    now = _cycles()
                    if part.number >= 0:
                        _add(sums, SLOTS_OF_A_PART * part.number, arith.subi(now, latest))
                        _add(sums, SLOTS_OF_A_PART * part.number + 1, _one())
                    latest = now
            if is_whole:
                with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
                    _add(sums, SLOTS_OF_A_PART * first, arith.subi(_cycles(), began))
                    _add(sums, SLOTS_OF_A_PART * first + 1, _one())


def _after(operation: ir.OpView) -> ir.OpView:
    """Return the next operation of a block, which a part is never the last of."""
    operations = list(operation.operation.block.operations)
    return operations[operations.index(operation) + 1]


def _cycles() -> ir.Value:
    counter = ir.IntegerType.get_signless(64)
    return llvm.call_intrinsic(counter, "llvm.readcyclecounter", [], [], [])


def _one() -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), 1)


def _add(sums: ir.Value, slot: int, value: ir.Value) -> None:
    place = [b.index(slot)]
    memref.store(arith.addi(memref.load(sums, place), value), sums, place)
