"""The `loads-by-step` stage: what is loaded at once of an operand is for one step of a product.

A product goes along its depth step by step.  An instruction that loads several matrices of an operand may
take those of several steps, or those of one: then the registers of a step are free when it is done, and fewer
are taken at a time.
"""

from mlir import ir

from harness.ir.walk import operations_within
from harness.layouts.constraints import in_shared_memory
from harness.layouts.distribution.transfers import BY_STEP


def load_by_step(function: ir.OpView) -> None:
    """Mark the reads of operands from shared memory, in place."""
    for read in operations_within(function):
        if read.name == "vector.transfer_read" and _is_staged_operand(read):
            read.operation.attributes[BY_STEP] = ir.UnitAttr.get()


def _is_staged_operand(read: ir.OpView) -> bool:
    users = [use.owner.name for use in read.results[0].uses]
    return in_shared_memory(read.operands[0]) and "vector.contract" in users
