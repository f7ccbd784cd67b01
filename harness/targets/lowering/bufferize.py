"""The `bufferized` stage: tensors become memory."""

from mlir import ir
from mlir.dialects import func

from harness.codegen.ir.walk import functions_of, terminator_of
from harness.system.errors import BuildError
from harness.targets.lowering.transforms import run_passes


def bufferize(module: ir.Module) -> None:
    """Turn tensors into buffers; kernels write their last argument in place and return nothing."""
    run_passes(
        module,
        "eliminate-empty-tensors",
        "one-shot-bufferize{bufferize-function-boundaries=true "
        "function-boundary-type-conversion=identity-layout-map}",
        "canonicalize",
        "cse",
        "canonicalize",
    )
    for function in functions_of(module):
        _return_nothing(function)


def _return_nothing(function: func.FuncOp) -> None:
    """Drop the returned buffer, which is the argument that the kernel wrote in place."""
    block = function.entry_block
    returned = terminator_of(block)
    if [value for value in returned.operands if value not in list(block.arguments)]:
        raise BuildError(
            f"kernel {function.name} returns a buffer of its own: its output was not bufferized in place"
        )
    with ir.InsertionPoint(returned), returned.location:
        func.ReturnOp([])
    returned.operation.erase()
    signature = ir.FunctionType.get(function.type.inputs, [])
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
