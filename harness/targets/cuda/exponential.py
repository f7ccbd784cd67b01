"""`exp2` as the instruction that NVIDIA's GPUs have for it.

`ex2.approx.ftz.f32` (PTX ISA 9.2, section 9.7.3.21) has an error of at most 2 units in the last place, and
takes and gives subnormal numbers as 0.
"""

from mlir import ir
from mlir.dialects import llvm, vector

from harness.errors import BuildError
from harness.mlir_walk import operations_within

INTRINSIC = "llvm.nvvm.ex2.approx.ftz.f"


def use_exponential_instruction(module: ir.Module) -> None:
    """Replace every `math.exp2` of f32, in place."""
    for operation in list(operations_within(module.operation)):
        if operation.name == "math.exp2":
            with ir.InsertionPoint(operation), operation.location:
                result = _exponential(operation.operands[0])
            operation.results[0].replace_all_uses_with(result)
            operation.operation.erase()


def _exponential(value: ir.Value) -> ir.Value:
    if isinstance(value.type, ir.VectorType):
        elements = [_exponential(vector.extract(value, [], [at])) for at in range(value.type.shape[0])]
        return vector.from_elements(value.type, elements)
    if str(value.type) != "f32":
        raise BuildError(f"exp2 of {value.type}: the instruction takes f32")
    result: ir.Value = llvm.call_intrinsic(value.type, INTRINSIC, [value], [], [])
    return result
