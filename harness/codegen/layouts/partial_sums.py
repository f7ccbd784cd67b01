"""The `partial-sums` stage: a sum that a loop carries is added up across lanes once, after the loop.

The lanes that share a row would otherwise exchange their parts in every iteration.  FlashAttention-2 defers
the same exchange (Dao, *FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*,
2023, and its public kernels).

A carried sum may stay in parts where an iteration only scales it and adds to it, s' = α·s + Σ x: the sum over
lanes of the parts obeys the same recurrence, when all lanes of a row share α and the parts begin with 0 or
with parts that an earlier loop left.
"""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import gpu

from harness.codegen.ir.constants import is_all_zero
from harness.codegen.ir.for_loop import ForLoop, initial_operand
from harness.codegen.ir.walk import operations_within, producer_of
from harness.codegen.layouts.analysis import LayoutAnalysis
from harness.codegen.layouts.constraints import is_vector, reduced_axis
from harness.codegen.layouts.distribution.reductions import PARTIAL, lane_masks


@dataclass(frozen=True)
class CarriedSum:
    """A value that a loop carries and only scales and adds to."""

    loop: ir.OpView
    number: int
    """Among the values that the loop carries."""
    reduction: ir.OpView
    """Adds to it."""

    @property
    def start(self) -> ir.Value:
        """The value before the first iteration."""
        return ForLoop(self.loop).initial_values[self.number]

    @property
    def result(self) -> ir.OpResult:
        """The value after the last iteration."""
        return self.loop.results[self.number]


def defer_row_sums(function: ir.OpView, analysis: LayoutAnalysis) -> None:
    """Let loops carry the lanes' parts of sums, and add them up where the sums are used, in place."""
    deferred: dict[ir.Value, CarriedSum] = {}
    for carried_sum in _carried_sums(function):
        if (is_all_zero(carried_sum.start) or carried_sum.start in deferred) and _cluster(
            carried_sum, analysis
        ) is not None:
            deferred[carried_sum.result] = carried_sum
    starts = {
        (carried_sum.loop.operation, initial_operand(carried_sum.number)) for carried_sum in deferred.values()
    }
    for carried_sum in deferred.values():
        carried_sum.reduction.attributes[PARTIAL] = ir.UnitAttr.get()
        _add_up_for_uses(carried_sum, starts, analysis)


def _add_up_for_uses(
    carried_sum: CarriedSum, starts: set[tuple[ir.Operation, int]], analysis: LayoutAnalysis
) -> None:
    uses = [use for use in carried_sum.result.uses if (use.owner.operation, use.operand_number) not in starts]
    if not uses:
        return
    size, stride = _cluster(carried_sum, analysis) or (1, 1)
    with ir.InsertionPoint.after(carried_sum.loop), carried_sum.loop.location:
        added = gpu.subgroup_reduce(
            carried_sum.result, gpu.AllReduceOperation.ADD, cluster_size=size, cluster_stride=stride
        )
    analysis.layouts[added] = analysis.layouts[carried_sum.result]
    for use in uses:
        use.owner.operands[use.operand_number] = added


def _cluster(carried_sum: CarriedSum, analysis: LayoutAnalysis) -> tuple[int, int] | None:
    """Return how many lanes share a row and the distance between their numbers; None where that varies."""
    source = analysis.layout(carried_sum.reduction.operands[0])
    masks = sorted(lane_masks(source, reduced_axis(carried_sum.reduction)))
    if not masks or masks != [masks[0] << bit for bit in range(len(masks))]:
        return None
    return 1 << len(masks), masks[0]


def _carried_sums(function: ir.OpView) -> list[CarriedSum]:
    sums = []
    for loop in operations_within(function):
        if loop.name != "scf.for":
            continue
        for number, result in enumerate(loop.results):
            reduction = _adding_reduction(loop, number) if is_vector(result) else None
            if reduction is not None:
                sums.append(CarriedSum(loop, number, reduction))
    return sums


def _adding_reduction(loop: ir.OpView, number: int) -> ir.OpView | None:
    """Return the reduction that adds to a carried value, if scaling is all else that happens to it."""
    carried, yielded = ForLoop(loop).carried[number], ForLoop(loop).yielded[number]
    reduction = producer_of(yielded)
    if reduction is None or reduction.name != "vector.multi_reduction" or not _adds(reduction):
        return None
    if len(list(yielded.uses)) != 1:
        return None
    start = reduction.operands[1]
    scaling = producer_of(start)
    if start == carried:
        users = [reduction]
    elif scaling is not None and scaling.name == "arith.mulf" and _only_one_is(scaling, carried):
        users = [scaling]
        if len(list(start.uses)) != 1:
            return None
    else:
        return None
    is_used_once = [use.owner.operation for use in carried.uses] == [user.operation for user in users]
    return reduction if is_used_once else None


def _only_one_is(product: ir.OpView, factor: ir.Value) -> bool:
    return [operand == factor for operand in product.operands].count(True) == 1


def _adds(reduction: ir.OpView) -> bool:
    return "<add>" in str(reduction.attributes["kind"])
