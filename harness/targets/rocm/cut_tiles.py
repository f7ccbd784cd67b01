"""Loops over tiles that a mask cuts: what does not change in them is computed in each iteration, of a few.

LLVM moves out of a loop whether a row sees a column, which takes a register for each element.  Where
registers are full, others are spilled for it.
"""

from mlir import ir

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within

OF_LOOP = "llvm.loop_annotation"
"""Attribute of a loop, and of its last branch after lowering."""
OF_BRANCH = "loop_annotation"
"""The same as LLVM's dialect spells it."""
MOVES_NOTHING_OUT = "#llvm.loop_annotation<licm = <disable = true>>"
IN_LLVM_IR = '"llvm.licm.disable"'
"""The annotation as LLVM's metadata."""


def mark_loops_over_cut_tiles(module: ir.Module) -> None:
    """Mark the loops that do more than the shortest of those that go on with each other's results."""
    for chain in _chains(module):
        lengths = [len(list(operations_within(loop.operation))) for loop in chain]
        for loop, length in zip(chain, lengths, strict=True):
            if length > min(lengths):
                loop.operation.attributes[OF_LOOP] = ir.Attribute.parse(MOVES_NOTHING_OUT)


def annotate_branch(branch: ir.OpView) -> None:
    """Spell the annotation of a loop's last branch as LLVM's dialect does."""
    attributes = branch.operation.attributes
    if OF_LOOP in attributes:
        attributes[OF_BRANCH] = attributes[OF_LOOP]
        del attributes[OF_LOOP]


def has_loops_over_cut_tiles(llvm_ir: str) -> bool:
    """Return whether nothing is to be moved out of some loop."""
    return IN_LLVM_IR in llvm_ir


def without_annotations(llvm_ir: str) -> str:
    """Return LLVM IR of whose loops all may be moved out: metadata of another name, which LLVM ignores."""
    return llvm_ir.replace(IN_LLVM_IR, '"harness.cut_tiles"')


def _chains(module: ir.Module) -> list[list[ir.OpView]]:
    """Return loops in groups: each begins with what the one before it carries at the end."""
    chains: list[list[ir.OpView]] = []
    for operation in operations_within(module.operation):
        if operation.name != "scf.for":
            continue
        owners = [value.owner for value in ForLoop(operation).initial_values]
        before = [chain for chain in chains if chain[-1].operation in owners]
        if before:
            before[0].append(operation)
        else:
            chains.append([operation])
    return chains
