"""What the loops of a tiling carry: results, statistics of running softmaxes, kept intermediates."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import tensor

from harness.payloads import builder as b
from harness.rewrites.constants import constant_of_fill
from harness.rewrites.consumer_rewriting import RunningSoftmax, Tags, demanded_values
from harness.rewrites.dimensions import sizes_of
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.plan import TilingPlan
from harness.rewrites.structured import place_of


@dataclass(frozen=True)
class Carried:
    """A tensor that the loops produce."""

    original: ir.Value
    loops: Tags
    """For each of its dimensions, the root's loop that cuts it."""
    initial: ir.Value
    """What a reduction starts from."""
    place: ir.Value
    """The tensor that loops outside all reductions write tiles to."""
    is_exported: bool = True
    """Whether it is needed after the loops."""
    is_root_result: bool = True
    addend: ir.Value | None = None
    """What is added to it after the reduction."""

    @property
    def is_written_in_place(self) -> bool:
        """Whether what is computed into its place may be computed into the carried tensor instead: nothing
        else reads the place."""
        is_new = isinstance(self.place, ir.OpResult) and self.place.owner.name == "tensor.empty"
        return is_new or len(list(self.place.uses)) == 1


def carried_tensors(
    plan: TilingPlan,
    running: Sequence[RunningSoftmax],
    keep: Sequence[ir.Value],
    stop: frozenset[ir.Operation],
) -> list[Carried]:
    """Return the root's results, then statistics, then kept intermediates.

    What they start from is made at the current insertion point where it does not exist yet.
    """
    tensors = _root_results(plan, is_rescaled=bool(running))
    for softmax, tags in ((each.softmax, each.row_tags) for each in running):
        for value, initial in (
            (softmax.maximum, softmax.initial_maximum),
            (softmax.total, softmax.initial_total),
        ):
            is_needed = value in keep or bool(list(value.uses))
            tensors.append(Carried(value, tags, initial, place_of(initial), is_needed, False))
    known = [each.original for each in tensors]
    for value in keep:
        if value not in known:
            empty = tensor.empty(sizes_of(value), value.type.element_type)
            tensors.append(Carried(value, _tags_of(plan, value, stop), empty, empty, True, False))
    return tensors


def _root_results(plan: TilingPlan, *, is_rescaled: bool) -> list[Carried]:
    """Return the root's results.

    A running softmax rescales what is accumulated.  An initial value that is not 0 is no part of that: the
    reduction then starts from 0 and the initial value is added afterwards.
    """
    tensors = []
    for value, loops, operand in zip(
        plan.view.operation.results, plan.view.result_loops, plan.view.init_operands, strict=True
    ):
        init = plan.view.operation.operands[operand]
        place = place_of(init)
        tags = tuple(loop if loop in plan.tiled else None for loop in loops)
        if is_rescaled and constant_of_fill(init) != 0.0:
            zeros = b.filled(0.0, sizes_of(value), b.dtype_of(value))
            tensors.append(Carried(value, tags, zeros, place, addend=init))
        else:
            tensors.append(Carried(value, tags, init, place))
    return tensors


def _tags_of(plan: TilingPlan, value: ir.Value, stop: frozenset[ir.Operation]) -> Tags:
    """Return the root's loops that cut a kept intermediate."""
    root = plan.view.operation
    if isinstance(value, ir.OpResult) and value.owner.operation.block == root.operation.block:
        for demanded, tags in demanded_values(plan.view, plan.tiled, stop):
            if demanded == value:
                return tags
    raise RewriteRefusedError(root, f"the intermediate {value.type} is not among what its tiles need")
