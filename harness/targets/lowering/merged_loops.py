"""Loops over rows that go along with each other: what one has written the next need not read again."""

from mlir import ir
from mlir.dialects import scf

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within, producer_of, terminator_of
from harness.targets.lowering.transforms import run_passes
from harness.targets.lowering.vectorize import INNERMOST

READ, WRITE = "vector.transfer_read", "vector.transfer_write"


def merge_row_loops(module: ir.Module) -> None:
    """Merge innermost loops with those before them whose rows they read, in place.

    A sum of exponentials then takes them from registers, while those of the next rows are computed.
    """
    merged = False
    for loop in [operation for operation in operations_within(module.operation) if _is_innermost(operation)]:
        writer = _writer_of_rows(ForLoop(loop))
        if writer is not None:
            _merge(writer, ForLoop(loop))
            merged = True
    if merged:
        run_passes(module, "canonicalize", "cse")


def _is_innermost(operation: ir.OpView) -> bool:
    return operation.name == "scf.for" and INNERMOST in operation.attributes


def _writer_of_rows(reader: ForLoop) -> ForLoop | None:
    """Return the loop whose rows a loop reads, where each iteration reads what the same one there wrote."""
    for read in reader.body.operations:
        owner = producer_of(read.operands[0]) if read.name == READ else None
        if owner is None or not _is_innermost(owner):
            continue
        writer = ForLoop(owner)
        if writer.bounds == reader.bounds and _may_wait(writer, reader) and _reads_only_rows(writer, reader):
            return writer
    return None


def _may_wait(writer: ForLoop, reader: ForLoop) -> bool:
    """Whether a loop can run where a later loop of its block does: nothing between them uses its results."""
    block = list(reader.operation.operation.block.operations)
    if writer.operation.operation.block != reader.operation.operation.block:
        return False
    between = block[block.index(writer.operation) + 1 : block.index(reader.operation)]
    using = {user for each in between for user in (each, *operations_within(each))}
    return not any(
        use.owner in using for result in writer.operation.results for use in result.uses
    ) and not any(result in reader.initial_values for result in writer.operation.results)


def _reads_only_rows(writer: ForLoop, reader: ForLoop) -> bool:
    """Whether all that a loop takes from another are rows as the same iteration there wrote them."""
    inside = set(operations_within(reader.operation))
    uses = [
        (number, use.owner)
        for number, result in enumerate(writer.operation.results)
        for use in result.uses
        if use.owner in inside
    ]
    return all(_is_same_row(read, reader, writer, number) for number, read in uses)


def _is_same_row(read: ir.OpView, reader: ForLoop, writer: ForLoop, number: int) -> bool:
    """Whether an operation reads the vector that the other loop writes to a tensor in the same iteration."""
    write = producer_of(writer.yielded[number])
    if read.name != READ or read.operation.block != reader.body or write is None or write.name != WRITE:
        return False
    stored, tensor, *position = write.operands
    wanted = [writer.position if index == reader.position else index for index in list(read.operands)[1:-1]]
    return (
        tensor == writer.carried[number]
        and position == wanted
        and stored.type == read.results[0].type
        and all(read.attributes[name] == write.attributes[name] for name in ("in_bounds", "permutation_map"))
    )


def _merge(writer: ForLoop, reader: ForLoop) -> None:
    """Put one loop in place of two."""
    loops = (writer, reader)
    carried = [value for each in loops for value in each.initial_values]
    with ir.InsertionPoint(reader.operation), reader.operation.location:
        merged = scf.ForOp(*reader.bounds, carried)
        merged.attributes[INNERMOST] = ir.UnitAttr.get()
    written = list(writer.operation.results)
    for read in [operation for operation in reader.body.operations if operation.name == READ]:
        if read.operands[0] in written:
            write = ir.OpResult(writer.yielded[written.index(read.operands[0])]).owner
            read.results[0].replace_all_uses_with(write.operands[0])
            read.operation.erase()
    arguments, results = list(merged.inner_iter_args), list(merged.results)
    yielded = []
    with ir.InsertionPoint(merged.body), reader.operation.location:
        end = scf.YieldOp([])
    for each in loops:
        each.position.replace_all_uses_with(merged.induction_variable)
        count = len(each.carried)
        for values, new in ((each.carried, arguments), (list(each.operation.results), results)):
            for value, replacement in zip(values, new[:count], strict=True):
                value.replace_all_uses_with(replacement)
        arguments, results = arguments[count:], results[count:]
        yielded += each.yielded
        old_end = terminator_of(each.body)
        for operation in list(each.body.operations):
            if operation != old_end:
                operation.move_before(end)
    with ir.InsertionPoint(end), reader.operation.location:
        scf.YieldOp(yielded)
    end.operation.erase()
    for each in reversed(loops):
        each.operation.operation.erase()
