"""What an operation needs and is needed by; copies, moves and removal of operations that keep to it."""

from collections.abc import Iterable, Sequence, Set

from mlir import ir
from mlir.dialects import tensor

from harness.codegen.ir.walk import operations_within

Copies = dict[ir.Value, ir.Value]
"""From values to what copied operations use instead."""


def needed_by(root: ir.OpView | ir.Operation) -> set[ir.Operation]:
    """Return the operations of the root's block that the root needs, the root included."""
    block = root.operation.block
    needed: set[ir.Operation] = set()
    pending = [root.operation]
    while pending:
        operation = pending.pop()
        if operation in needed:
            continue
        needed.add(operation)
        for value in operands_within(operation):
            owner = _ancestor(value.owner, block) if isinstance(value, ir.OpResult) else None
            if owner is not None:
                pending.append(owner)
    return needed


def producers_in(
    blocks: Sequence[ir.Block], values: Iterable[ir.Value], computed: Set[ir.Value] = frozenset()
) -> tuple[ir.OpView, ...]:
    """Return the operations of some blocks that compute values, in the order of blocks and operations.

    What gives the values `computed` is not needed.
    """
    needed: set[ir.Operation] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in computed or not isinstance(value, ir.OpResult):
            continue
        owner = ir.OpResult(value).owner
        if owner not in needed:
            needed.add(owner)
            pending += operands_within(owner)
    candidates = [operation for block in blocks for operation in block.operations]
    return tuple(operation for operation in candidates if operation.operation in needed)


def operands_within(operation: ir.OpView | ir.Operation) -> list[ir.Value]:
    """Return the operands of an operation and of all in its regions."""
    operands = list(operation.operands)
    for nested in operations_within(operation):
        operands += nested.operands
    return operands


def redirect(
    root: ir.OpView, replacements: Sequence[tuple[ir.Value, ir.Value]], made: Set[ir.Operation]
) -> None:
    """Let uses of values use others, which operations just before the root have made.

    Those operations and what the root itself needs keep what they use.  Other operations before the root that
    use a value move behind it, with all that use them.
    """
    block = root.operation.block
    order = [operation.operation for operation in block.operations]
    # Lists, and the sets before any change: the hash of an operation depends on its operands.
    kept = (needed_by(root) - {root.operation}) | made
    changes: list[tuple[ir.OpOperand, ir.Value]] = []
    late: list[ir.Operation] = []
    for original, value in replacements:
        with ir.InsertionPoint(root), root.location:
            new = value if value.type == original.type else tensor.cast(original.type, value)
        for use in original.uses:
            user = _ancestor(use.owner, block)
            if user is not None and user not in kept:
                changes.append((use, new))
                late.append(user)
    late = _with_users(late, order[: order.index(root.operation)])
    for use, new in changes:
        use.owner.operands[use.operand_number] = new
    last = root.operation
    for operation in late:
        operation.move_after(last)
        last = operation


def copy_with(operation: ir.OpView, copies: Copies) -> None:
    """Copy an operation, with everything in its regions, to the current insertion point.

    Its results are added to the copies.
    """
    copy = operation.operation.clone()
    for each in (copy, *operations_within(copy)):
        for position, operand in enumerate(each.operands):
            if operand in copies:
                each.operands[position] = copies[operand]
    copies.update(zip(operation.results, copy.results, strict=True))


def erase_dead(operations: Sequence[ir.OpView]) -> None:
    """Erase those of the operations whose results nothing uses, last first."""
    for operation in reversed(operations):
        if operation.results and not any(list(result.uses) for result in operation.results):
            operation.operation.erase()


def _with_users(operations: list[ir.Operation], candidates: list[ir.Operation]) -> list[ir.Operation]:
    users_too: set[ir.Operation] = set()
    pending = list(operations)
    while pending:
        operation = pending.pop()
        if operation in users_too:
            continue
        users_too.add(operation)
        for result in operation.results:
            users = (_ancestor(use.owner, operation.block) for use in result.uses)
            pending += [user for user in users if user is not None]
    return [candidate for candidate in candidates if candidate in users_too]


def _ancestor(operation: ir.OpView | ir.Operation | ir.Block | None, block: ir.Block) -> ir.Operation | None:
    while isinstance(operation, ir.OpView | ir.Operation) and operation.operation.parent is not None:
        if operation.operation.block == block:
            return operation.operation
        operation = operation.operation.parent
    return None
