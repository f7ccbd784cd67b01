"""`exp2` and division as the instructions that NVIDIA's GPUs have for them, each right to 2 units in the last
place.

`ex2.approx.ftz.f32` (PTX ISA 9.2, section 9.7.3.21) takes and gives subnormal numbers as 0; `div.full.f32`
(section 9.7.3.8) is right over the whole range of operands.  A division that rounds correctly is a call,
whose registers its caller has to save.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import llvm, vector

from harness.errors import BuildError
from harness.ir.walk import operations_within

INTRINSICS = {"math.exp2": "llvm.nvvm.ex2.approx.ftz.f", "arith.divf": "llvm.nvvm.div.full"}
"""What stands for an operation on f32."""


def use_approximations(module: ir.Module) -> None:
    """Replace every operation of `INTRINSICS`, in place; raises `BuildError` for other types than f32."""
    for operation in list(operations_within(module.operation)):
        intrinsic = INTRINSICS.get(operation.name)
        if intrinsic is not None:
            with ir.InsertionPoint(operation), operation.location:
                result = _approximation(operation.name, intrinsic, list(operation.operands))
            operation.results[0].replace_all_uses_with(result)
            operation.operation.erase()


def _approximation(name: str, intrinsic: str, values: Sequence[ir.Value]) -> ir.Value:
    kind = values[0].type
    if isinstance(kind, ir.VectorType):
        elements = [
            _approximation(name, intrinsic, [vector.extract(value, [], [at]) for value in values])
            for at in range(kind.shape[0])
        ]
        return vector.from_elements(kind, elements)
    if str(kind) != "f32":
        raise BuildError(f"{name} of {kind}: the instruction takes f32")
    result: ir.Value = llvm.call_intrinsic(kind, intrinsic, list(values), [], [])
    return result
