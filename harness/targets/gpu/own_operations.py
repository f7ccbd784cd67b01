"""Operations of a lane that a vendor's hardware has another operation or instruction for."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, llvm, vector

from harness.system.errors import BuildError
from harness.targets.lowering.transforms import Replacement


def by_intrinsic(intrinsic: str) -> Replacement:
    """Return what replaces an operation on f32, or on vectors of it, by calls of an intrinsic."""

    def replacement(operation: ir.OpView) -> ir.Value:
        return call(operation.name, list(operation.operands))

    def call(name: str, values: Sequence[ir.Value]) -> ir.Value:
        kind = values[0].type
        if isinstance(kind, ir.VectorType):
            elements = [
                call(name, [vector.extract(value, [], [at]) for value in values])
                for at in range(kind.shape[0])
            ]
            return vector.from_elements(kind, elements)
        if str(kind) != "f32":
            raise BuildError(f"{name} of {kind}: the instruction takes f32")
        return llvm.call_intrinsic(kind, intrinsic, list(values), [], [])

    return replacement


def maximum_of_numbers(operation: ir.OpView) -> ir.Value:
    """Return a maximum that passes over NaN, one instruction instead of several.

    Kernels take maxima of rows of scores, and subtract them from the same scores: a NaN among these makes
    the row's sum of exponentials NaN, whatever its maximum is.
    """
    result: ir.Value = arith.maxnumf(*operation.operands)
    return result
