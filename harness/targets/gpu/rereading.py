"""The `read-again` stage: operands that loops use are read from memory in each iteration.

An operand that is read before a loop stays in registers for as long as the loop runs.  Where there are not
enough of them a product takes it each time from shared memory, or from where lanes read it directly.
"""

from mlir import ir

from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.layouts.constraints import in_shared_memory
from harness.targets.gpu.shared_memory import place


def has_room(module: ir.Module, most_bytes: int) -> bool:
    """Return whether functions that read again in loops need no more shared memory than this."""
    trial = ir.Module.parse(str(module), context=module.context)
    for function in functions_of(trial):
        read_again_in_loops(function, is_staged=True)
    return all(place(function).bytes <= most_bytes for function in functions_of(trial))


def read_again_in_loops(function: ir.OpView, *, is_staged: bool) -> None:
    """Read what loops use of a matrix in memory just before it is used, in place."""
    lies_still = in_shared_memory if is_staged else _is_only_read
    for read in list(operations_within(function)):
        if read.name == "vector.transfer_read" and lies_still(read.operands[0]):
            _move_into_loops(read)


def _is_only_read(buffer: ir.Value) -> bool:
    is_argument = isinstance(buffer, ir.BlockArgument)
    return is_argument and all(use.owner.name == "vector.transfer_read" for use in buffer.uses)


def _move_into_loops(read: ir.OpView) -> None:
    """Read what loops use for each use of its own; one behind a loop would keep it for as long as that."""
    uses = list(read.results[0].uses)
    is_in_loops = any(use.owner.operation.block != read.operation.block for use in uses)
    if not is_in_loops or not _is_filled_once(read):
        return
    for use in uses:
        again = read.operation.clone(ir.InsertionPoint(use.owner))
        use.owner.operands[use.operand_number] = again.results[0]
    read.operation.erase()


def _is_filled_once(read: ir.OpView) -> bool:
    """Return whether the buffer of a read is written in the block of the read only, where no loop is."""
    writers = [use.owner for use in read.operands[0].uses if use.owner.name == "vector.transfer_write"]
    return all(writer.operation.block == read.operation.block for writer in writers)
