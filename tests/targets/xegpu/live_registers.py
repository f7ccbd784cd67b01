"""How many registers a sub-group's vectors take at a time, in a lane's code as it stands."""

import math

from mlir import ir

from harness.codegen.ir.walk import operations_within

LANES, REGISTER_BYTES = 16, 64
RENAMES = ("vector.shape_cast", "vector.bitcast")


def most_live(module: ir.Module) -> int:
    """Return the most of a kernel and of its loops; constants take none, and what only renames registers."""
    blocks = [
        operation.regions[0].blocks[0]
        for operation in operations_within(module.operation)
        if operation.operation.name in ("scf.for", "gpu.func")
    ]
    return max(map(_live, blocks))


def _live(block: ir.Block) -> int:
    operations = list(block.operations)
    begins: dict[ir.Value, int] = dict.fromkeys(block.arguments, 0)
    ends: dict[ir.Value, int] = {}
    for number, operation in enumerate(operations):
        operands = list(map(_original, operation.operands))
        for nested in operations_within(operation) if len(operation.regions) else ():
            operands += [operand for operand in map(_original, nested.operands) if operand in begins]
        for operand in operands:
            owner = operand.owner
            is_own = operand in begins or (not isinstance(owner, ir.Block) and owner.operation.block == block)
            begins.setdefault(operand, 0)
            ends[operand] = number if is_own else len(operations)
        begins |= {result: number for result in operation.results if _original(result) == result}
    counts = [0.0] * (len(operations) + 1)
    for value, first in begins.items():
        for number in range(first, max(first + 1, ends.get(value, first))):
            counts[number] += _registers(value)
    return math.ceil(max(counts))


def _original(value: ir.Value) -> ir.Value:
    while not isinstance(value.owner, ir.Block) and value.owner.name in RENAMES:
        value = value.owner.operands[0]
    return value


def _registers(value: ir.Value) -> float:
    is_constant = not isinstance(value.owner, ir.Block) and value.owner.name == "arith.constant"
    if is_constant or not isinstance(value.type, ir.VectorType):
        return 0.0
    return math.prod(value.type.shape) * max(value.type.element_type.width, 8) / 8 * LANES / REGISTER_BYTES
