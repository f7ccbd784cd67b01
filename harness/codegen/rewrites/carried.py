"""What the loops of a tiling carry: results, statistics of running softmaxes, kept intermediates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mlir import ir

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.payloads.arguments import UNDOES_PADDING
from harness.codegen.rewrites.consumer_rewriting import demanded_values
from harness.codegen.rewrites.dependencies import needed_by
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.places import place_of
from harness.codegen.rewrites.plan import TilingPlan, check_not_continued
from harness.codegen.rewrites.running import Running, Tags
from harness.codegen.rewrites.structured import view_of


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
    is_written_in_place: bool = True
    """Whether what is computed into its place may be computed into the carried tensor instead."""


def carried_tensors(
    plan: TilingPlan,
    running: Sequence[Running],
    keep: Sequence[ir.Value],
    stop: frozenset[ir.Operation],
) -> list[Carried]:
    """Return the root's results, then statistics, then kept intermediates.

    What they start from is made at the current insertion point where it does not exist yet.
    """
    tensors = _root_results(plan, is_rescaled=any(each.rescales_root for each in running))
    for statistic in [statistic for each in running for statistic in each.statistics]:
        value, initial = statistic.value, statistic.initial
        is_needed = value in keep or bool(list(value.uses))
        if is_needed:
            check_not_continued(plan, ir.OpResult(value).owner.opview, initial)
        tensors.append(_carried(value, statistic.tags, initial, is_exported=is_needed, is_root_result=False))
    originals = [each.original for each in tensors]
    for value in keep:
        if value not in originals:
            _check_known_in_tiles(value, running)
            initial = _own_place(value) or b.empty_like(value)
            tensors.append(_carried(value, _tags_of(plan, value, stop), initial, is_root_result=False))
    if plan.options.carries_whole:
        tensors.sort(key=lambda each: each.is_root_result)  # statistics first, as forms are printed
    for tensor in tensors:
        if tensor.is_exported:
            _check_scope(plan, tensor.original)
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
        if is_rescaled and constant_of_fill(init) != 0.0:
            zeros = b.filled(0.0, b.sizes_of(value), b.dtype_of(value))
            tensors.append(replace(_carried(value, loops, init), initial=zeros, addend=init))
        else:
            tensors.append(_carried(value, loops, init))
    return tensors


def _carried(
    value: ir.Value, loops: Tags, initial: ir.Value, *, is_exported: bool = True, is_root_result: bool = True
) -> Carried:
    """Return a tensor that is computed into the place of its initial value.

    If something else reads the place, it must find there what was there before the loops.
    """
    place = place_of(initial)
    is_new = isinstance(place, ir.OpResult) and place.owner.name == "tensor.empty"
    is_unread = is_new or len(list(place.uses)) == 1
    return Carried(value, loops, initial, place, is_exported, is_root_result, is_written_in_place=is_unread)


def _own_place(value: ir.Value) -> ir.Value | None:
    """Return the memory of a caller that a kept intermediate is written to, None if it is new memory."""
    place = place_of(value)
    is_memory = isinstance(place, ir.BlockArgument) or place.owner.name == "tensor.extract_slice"
    return place if is_memory and place != value else None


def _tags_of(plan: TilingPlan, value: ir.Value, stop: frozenset[ir.Operation]) -> Tags:
    """Return the root's loops that cut a kept intermediate, or what is computed of intermediates."""
    demanded: dict[ir.Value, Tags] = {}
    for needed, tags in demanded_values(plan.view, {loop: loop for loop in plan.tiled}, stop):
        demanded.setdefault(needed, tags)
    value_tags = _tags_from(value, demanded)
    if value_tags is None:
        raise RewriteRefusedError(
            plan.view.operation, f"the intermediate {value.type} is not among what its tiles need"
        )
    return value_tags


def _tags_from(value: ir.Value, demanded: Mapping[ir.Value, Tags]) -> Tags | None:
    """Return the loops that cut a value, by those that cut what it is computed of; None where none do."""
    if value in demanded or not isinstance(value, ir.OpResult):
        return demanded.get(value)
    producer = ir.OpResult(value).owner.opview
    view = view_of(producer)
    if view is None:
        return _tags_from(producer.operands[0], demanded) if UNDOES_PADDING in producer.attributes else None
    of_loops: dict[int, int] = {}
    for operand, loops in zip(producer.operands, view.operand_loops, strict=True):
        tags = _tags_from(operand, demanded) or ()
        of_loops |= {loop: tag for loop, tag in zip(loops, tags, strict=False) if tag is not None}
    if not of_loops:
        return None
    return tuple(of_loops.get(loop) for loop in view.result_loops[ir.OpResult(value).result_number])


def _check_known_in_tiles(value: ir.Value, running: Sequence[Running]) -> None:
    """Refuse what is relative to a maximum and a total that are known only after the last tile."""
    needed = needed_by(ir.OpResult(value).owner) if isinstance(value, ir.OpResult) else set()
    for operation, _ in [reduction for each in running for reduction in each.reductions]:
        if operation.operation in needed:
            raise RewriteRefusedError(
                operation,
                f"the intermediate {value.type} cannot be kept: its tiles are relative to the maximum and "
                "total of the keys so far",
            )


def _check_scope(plan: TilingPlan, value: ir.Value) -> None:
    root = plan.view.operation.operation
    if ir.OpResult(value).owner.operation.block != root.block:
        raise RewriteRefusedError(
            root, f"the intermediate {value.type} is made outside the block of what is tiled"
        )
