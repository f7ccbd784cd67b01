"""One query of a head: products and reductions of a single row, with keys or columns in vector lanes.

Rows of K are read as they lie in memory: a product with a row multiplies parts of it, a vector long, and adds
these up, lane by lane.  What as many keys as a vector has lanes have in theirs is transposed and added up row
by row, which leaves their scores in the lanes of one vector.
"""

from collections.abc import Callable, Sequence

from mlir import ir
from mlir.dialects import arith, scf
from mlir.dialects import math as mlir_math

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.rewrites.ranges import add
from harness.targets.cpu.lanes import has_one_query
from harness.targets.cpu.register_tiles import IN_ORDER

MOST_PARTS = 16
"""Of a row, a vector long each, that are multiplied without a loop."""

PARALLEL, REDUCTION = "parallel", "reduction"


def compute_rows_in_lanes(module: ir.Module, vector_length: int) -> None:
    """Rewrite what kernels of one query compute of single rows, in place."""
    for function in functions_of(module):
        if not has_one_query(function):
            continue
        for operation in list(operations_within(function)):
            if operation.name == "linalg.generic":
                _rewrite(operation, vector_length)


def _rewrite(operation: ir.OpView, vector_length: int) -> None:
    kinds, loops = _kinds(operation), _loops(operation)
    shape = list(operation.results[0].type.shape)
    if kinds == [PARALLEL, PARALLEL, REDUCTION] and loops == [[0, 2], [1, 2], [0, 1]] and shape[0] == 1:
        _multiply_in_lanes(operation, vector_length)
    elif kinds == [PARALLEL, REDUCTION] and loops == [[0, 1], [0]] and shape == [1]:
        _reduce_in_lanes(operation, vector_length)


def _multiply_in_lanes(product: ir.OpView, vector_length: int) -> None:
    """Compute `[1, d] · [n, d]ᵀ` from parts of rows that are as long as a vector, or a part of one."""
    row, rows, initial = product.operands
    if constant_of_fill(initial) != 0.0:
        return
    count, depth = rows.type.shape
    lanes = _largest_part(depth, vector_length)
    with ir.InsertionPoint(product), product.location:
        by_lane = _sums_by_lane(row, rows, lanes)
        turned = b.structured("kl->lk", [by_lane], b.empty([lanes, count]), lambda element: element)
        sums = b.structured("lk->k", [turned], b.filled(0.0, [count]), arith.addf)
        scores = b.structured("k->qk", [sums], b.empty([1, count]), lambda element: element)
    product.results[0].replace_all_uses_with(scores)
    product.operation.erase()


def _sums_by_lane(row: ir.Value, rows: ir.Value, lanes: int) -> ir.Value:
    """Return what each lane adds up of the products of a row with others, `[n, lanes]`."""
    count, depth = rows.type.shape
    parts = depth // lanes
    group = max(number for number in range(1, MOST_PARTS + 1) if parts % number == 0)
    empty = b.empty([count, lanes])
    if group == parts:
        return _added_up(row, rows, 0, group, lanes, empty)
    zeros = b.filled(0.0, [count, lanes])
    loop = scf.ForOp(b.index(0), b.index(depth), b.index(group * lanes), [zeros])
    with ir.InsertionPoint(loop.body):
        start, sums = loop.induction_variable, loop.inner_iter_args[0]
        scf.YieldOp([_added_up(row, rows, start, group, lanes, sums, continues=True)])
    return loop.results[0]


def _added_up(
    row: ir.Value,
    rows: ir.Value,
    start: b.Size,
    parts: int,
    lanes: int,
    place: ir.Value,
    *,
    continues: bool = False,
) -> ir.Value:
    """Return the sums of the products of some parts of rows, added to what is in their place if any is."""
    count = rows.type.shape[0]
    starts = [add(start, number * lanes) for number in range(parts)]
    taken = [b.slice_of(rows, [0, first], [count, lanes]) for first in starts]
    factors = [b.slice_of(row, [0, first], [1, lanes], keep=[1]) for first in starts]
    axes = ",".join([*["kl"] * parts, *["l"] * parts])
    sums = b.structured(f"{axes}->kl", [*taken, *factors], place, _sum_of_products, takes_init=continues)
    ir.OpResult(sums).owner.attributes[IN_ORDER] = ir.UnitAttr.get()
    return sums


def _sum_of_products(*values: ir.Value) -> ir.Value:
    """Return Σ xᵢ·yᵢ of x₀, x₁, … y₀, y₁, …, added to a last number where there is one."""
    count = len(values) // 2
    pairs = list(zip(values[:count], values[count : 2 * count], strict=True))
    total = values[-1] if len(values) % 2 else arith.mulf(*pairs.pop(0))
    for left, right in pairs:
        total = mlir_math.fma(left, right, total)
    return total


def _reduce_in_lanes(reduction: ir.OpView, vector_length: int) -> None:
    """Take parts of a row, as long as a vector, into each other before their elements are."""
    (row, _initial) = reduction.operands
    length = row.type.shape[1]
    lanes = _largest_part(length, vector_length)
    if lanes == length:
        return
    combine = _combination(reduction)
    if combine is None:
        return
    with ir.InsertionPoint(reduction), reduction.location:
        parts = [b.slice_of(row, [0, start], [1, lanes]) for start in range(0, length, lanes)]
        axes = ",".join(["ql"] * len(parts))
        reduction.operands[0] = b.structured(f"{axes}->ql", parts, b.empty([1, lanes]), combine)


def _combination(reduction: ir.OpView) -> Callable[..., ir.Value] | None:
    """Return what combines any number of elements as a reduction combines two, None for other bodies."""
    *computed, end = reduction.regions[0].blocks[0].operations
    builders = {"arith.addf": arith.addf, "arith.maximumf": arith.maximumf}
    if len(computed) != 1 or computed[0].name not in builders or end.operands[0] != computed[0].results[0]:
        return None
    build = builders[computed[0].name]

    def combined(*values: ir.Value) -> ir.Value:
        result = values[0]
        for value in values[1:]:
            result = build(value, result)
        return result

    return combined


def _largest_part(length: int, most: int) -> int:
    part = most
    while length % part:
        part //= 2
    return part


def _kinds(operation: ir.OpView) -> list[str]:
    return [
        REDUCTION if REDUCTION in str(kind) else PARALLEL
        for kind in ir.ArrayAttr(operation.attributes["iterator_types"])
    ]


def _loops(operation: ir.OpView) -> Sequence[list[int]]:
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(operation.attributes["indexing_maps"])]
    if not all(isinstance(result, ir.AffineDimExpr) for mapping in maps for result in mapping.results):
        return []
    return [[ir.AffineDimExpr(result).position for result in mapping.results] for mapping in maps]
