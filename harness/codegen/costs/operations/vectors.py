"""Vectors: contractions, reductions, and transfers between registers and memory.

A transfer counts the whole vector, also where a mask or a bound would hide part of it.
"""

import math

from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant
from harness.codegen.costs.operations.arithmetic import Kind, elements_of
from harness.codegen.costs.trees import NOTHING, CostTree, Fixed
from harness.codegen.costs.walk import Handler, Walk, is_integer, named, nothing

FREE = (
    "ub.poison",
    *named(
        "vector", "bitcast broadcast constant_mask create_mask deinterleave extract extract_strided_slice"
    ),
    *named("vector", "extract_strided_slice from_elements insert insert_strided_slice interleave shape_cast"),
    *named("vector", "shuffle step to_elements transpose yield"),
)
"""Operations that only arrange elements in registers."""

FREE_INSTRUCTIONS = ("vblendps", "vblendpd")
"""x86 instructions written into the IR as inline assembly, that only arrange elements."""


ONE_FOR_EACH_ELEMENT = ("llvm.x86.avx512.mask.reduce.ps.512", "llvm.x86.avx512.mask.scalef.ps.512")
"""Intrinsics that compute one number from each element."""

CONVERSIONS = ("llvm.x86.avx512bf16.cvtne2ps2bf16.512",)
"""Intrinsics that only round, as `arith.truncf`."""


def _is_float(kind: ir.Type) -> bool:
    element = kind.element_type if isinstance(kind, ir.VectorType) else kind
    return isinstance(element, ir.FloatType)


def _adds(operation: ir.OpView) -> bool:
    return "kind" not in operation.attributes or "<add>" in str(operation.attributes["kind"])


def _multiply_adds(operation: ir.OpView, count: int) -> CostTree:
    if not _is_float(operation.results[0].type):
        return NOTHING
    return Fixed({Kind.MATMUL if _adds(operation) else Kind.OTHER: 2 * count})


def _contract(walk: Walk, operation: ir.OpView) -> CostTree:
    maps = [ir.AffineMapAttr(mapping).value for mapping in operation.attributes["indexing_maps"]]
    sizes = [1] * maps[0].n_dims
    for value, mapping in zip(list(operation.operands)[:2], maps, strict=False):
        elements_of(value.type)
        for size, expression in zip(value.type.shape, mapping.results, strict=True):
            sizes[ir.AffineDimExpr(expression).position] = size
    return _multiply_adds(operation, math.prod(sizes))


def _dot_of_pairs(walk: Walk, operation: ir.OpView) -> CostTree:
    return _multiply_adds(operation, 2 * elements_of(operation.results[0].type))


def _outer_product(walk: Walk, operation: ir.OpView) -> CostTree:
    count = elements_of(operation.results[0].type)
    if len(operation.operands) == 3:
        return _multiply_adds(operation, count)
    return Fixed({Kind.OTHER: count}) if _is_float(operation.results[0].type) else NOTHING


def _reduce(walk: Walk, operation: ir.OpView) -> CostTree:
    source = operation.operands[0].type
    if not _is_float(source):
        return NOTHING
    count = elements_of(source)
    return Fixed({Kind.OTHER: count if len(operation.operands) > 1 else count - 1})


def _transferred(operation: ir.OpView, vector: ir.VectorType) -> int:
    """Return how many elements of memory a transfer touches; broadcast dimensions touch one."""
    mapping = ir.AffineMapAttr(operation.attributes["permutation_map"]).value
    elements_of(vector)
    kept = [
        size
        for size, expression in zip(vector.shape, mapping.results, strict=True)
        if not isinstance(expression, ir.AffineConstantExpr)
    ]
    return math.prod(kept)


def _transfer_read(walk: Walk, operation: ir.OpView) -> CostTree:
    memory = walk.memory(operation.operands[0])
    return memory.reads_elements(_transferred(operation, operation.results[0].type))


def _transfer_write(walk: Walk, operation: ir.OpView) -> CostTree:
    value, destination = list(operation.operands)[:2]
    memory = walk.memory(destination)
    for result in operation.results:
        walk.define(result, memory)
    return memory.writes_elements(_transferred(operation, value.type))


def _load(walk: Walk, operation: ir.OpView) -> CostTree:
    return walk.memory(operation.operands[0]).reads_elements(elements_of(operation.results[0].type))


def _reduce_all(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count a reduction to one element; what any truth value of data decides is counted as if it were so."""
    (result,) = operation.results
    if is_integer(result.type):
        walk.define(result, Constant(1))
    return _reduce(walk, operation)


def _store(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count `vector.store`, whose operands are the vector and then the memory."""
    value, destination = list(operation.operands)[:2]
    return walk.memory(destination).writes_elements(elements_of(value.type))


def _masked_store(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count a store whose operands are the memory first and the vector last."""
    value = list(operation.operands)[-1]
    for result in operation.results:
        walk.define(result, walk.memory(operation.operands[0]))
    return walk.memory(operation.operands[0]).writes_elements(elements_of(value.type))


def _inline_assembly(walk: Walk, operation: ir.OpView) -> CostTree:
    text = ir.StringAttr(operation.attributes["asm_string"]).value
    instruction = text.split()[0] if text.split() else ""
    if instruction not in FREE_INSTRUCTIONS:
        raise NotCountable(f"llvm.inline_asm: what instruction {instruction!r} executes is not known")
    return NOTHING


def _intrinsic(walk: Walk, operation: ir.OpView) -> CostTree:
    name = ir.StringAttr(operation.attributes["intrin"]).value
    if name in CONVERSIONS:
        return NOTHING
    if name not in ONE_FOR_EACH_ELEMENT:
        raise NotCountable(f"llvm.call_intrinsic: what {name} executes is not known")
    return Fixed({Kind.OTHER: elements_of(operation.results[0].type)})


VECTORS: dict[str, Handler] = {
    **dict.fromkeys(FREE, nothing),
    **dict.fromkeys(("vector.load", "vector.maskedload", "vector.gather"), _load),
    **dict.fromkeys(("vector.maskedstore", "vector.scatter"), _masked_store),
    "vector.store": _store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
    "vector.contract": _contract,
    "vector.outerproduct": _outer_product,
    "x86vector.avx512.dot": _dot_of_pairs,
    "vector.multi_reduction": _reduce,
    "vector.reduction": _reduce_all,
    "llvm.inline_asm": _inline_assembly,
    "llvm.call_intrinsic": _intrinsic,
}
