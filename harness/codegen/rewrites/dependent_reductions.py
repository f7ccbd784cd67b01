"""Consumer rewriting in plain linalg: reductions that depend on each other go through one loop.

Of the reductions below a root some run along the dimension that a reduction loop of the root cuts, as the
maximum and the sum of a softmax do that is written as four operations.  The loop carries their results, and
each reduction whose terms depend on earlier ones, the root among them, is rescaled before it goes on
(`harness.codegen.rewrites.rescaling`).  A softmax of the `attn` dialect says by itself how its consumer is
rescaled (`harness.codegen.rewrites.consumer_rewriting`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from harness.codegen.dialect.operations import loop_letters
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.rewrites.consumer_rewriting import demanded_values
from harness.codegen.rewrites.dependencies import needed_by
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.fusion import TileBuilder
from harness.codegen.rewrites.plan import TilingPlan
from harness.codegen.rewrites.ranges import Range, Ranges
from harness.codegen.rewrites.repeated_elements import hiding_of
from harness.codegen.rewrites.rescaling import Change, Changes, Scalars, Term, term_of
from harness.codegen.rewrites.running import Cut, Running, Statistic, Tags
from harness.codegen.rewrites.structured import StructuredView, view_of

LARGEST = 1e29
"""Beyond it an initial value is as good as none for a maximum or a minimum."""


@dataclass(frozen=True)
class Dependent:
    """A reduction, and how what it has reduced changes with the statistics before it."""

    view: StructuredView
    tags: Tags
    """The root's loops, also those that are not cut, for each of its own."""
    term: Term
    change: Change

    @property
    def result(self) -> ir.Value:
        """The statistic."""
        return self.view.operation.results[0]

    @property
    def result_tags(self) -> Tags:
        """The root's loop along each dimension of the statistic."""
        return tuple(self.tags[loop] for loop in self.view.result_loops[0])


@dataclass(frozen=True)
class DependentReductions(Running):
    """Reductions in the order in which they depend on each other, the root last."""

    members: tuple[Dependent, ...]
    root: Dependent

    @property
    def reductions(self) -> Sequence[tuple[ir.OpView, Tags]]:
        """All but the root."""
        return [(each.view.operation, each.tags) for each in self.members]

    @property
    def statistics(self) -> Sequence[Statistic]:
        """One of each."""
        return [
            Statistic(each.result, each.result_tags, each.view.operation.operands[each.view.init_operands[0]])
            for each in self.members
        ]

    @property
    def rescales_root(self) -> bool:
        """Whether the root is a sum whose terms depend on others."""
        return self.root.term.is_added and bool(self.root.change.statistics)

    def advance(self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value]) -> None:
        """Build the reductions in order."""
        for each in self.members:
            init = self._rescaled(each, builder, cut, states, states[each.result])
            loops = {loop: cut[tag] for loop, tag in enumerate(each.tags) if tag in cut}
            results = builder.operation(
                each.view, each.view.ranges(loops), {each.view.init_operands[0]: init}
            )
            builder.provide(each.result, _ranges(each, cut), results[0])

    def rescaled(
        self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value], init: ir.Value
    ) -> ir.Value:
        """Return what the root made of earlier tiles, as if with the statistics after this one."""
        return self._rescaled(self.root, builder, cut, states, init)

    def _rescaled(
        self,
        reduction: Dependent,
        builder: TileBuilder,
        cut: Cut,
        states: Mapping[ir.Value, ir.Value],
        init: ir.Value,
    ) -> ir.Value:
        change, is_added = reduction.change, reduction.term.is_added
        of_statistics = {each.result: each for each in self.members if each.result in change.statistics}
        emit = change.ratio if is_added else change.difference
        if not of_statistics or emit is None:
            return init
        letters = dict(enumerate(loop_letters(len(self.root.tags))))
        axes = [_axes(each, cut, letters) for each in (*of_statistics.values(), reduction)]
        before = [states[value] for value in of_statistics]
        after = [builder.tile(value, _ranges(each, cut)) for value, each in of_statistics.items()]

        def body(*scalars: ir.Value) -> ir.Value:
            *of_both, accumulated = scalars
            old: Scalars = dict(zip(of_statistics, of_both, strict=False))
            new: Scalars = dict(zip(of_statistics, of_both[len(old) :], strict=True))
            factor = _converted(emit(old, new), accumulated.type)
            if factor is None:
                return accumulated
            return (arith.mulf if is_added else arith.addf)(accumulated, factor)

        subscripts = f"{','.join([*axes[:-1], *axes[:-1]])}->{axes[-1]}"
        return b.structured(subscripts, [*before, *after], init, body, takes_init=True)


def dependent_reductions(
    plan: TilingPlan, stop: frozenset[ir.Operation], keep: Sequence[ir.Value]
) -> list[DependentReductions]:
    """Find the reductions that a reduction loop of the root cuts: those below it, and those that are kept.

    Raises `RewriteRefusedError` where one depends on others in a way that no factor undoes.
    """
    root, loops = plan.view, [loop for loop in plan.inner if plan.view.is_reduction[loop]]
    if len(loops) != 1 or (root_term := term_of(root)) is None:
        return []
    demands: dict[ir.Value, set[Tags]] = defaultdict(set)
    for value, tags in demanded_values(root, {loop: loop for loop in range(root.loop_count)}, stop):
        demands[value].add(tags)
    makers = {
        ir.OpResult(value).owner.operation for value in (*demands, *keep) if isinstance(value, ir.OpResult)
    }
    changes, members = Changes(), list[Dependent]()
    for operation in root.operation.operation.block.operations:
        if operation.operation in stop or operation.operation not in makers:
            continue
        view = view_of(operation)
        own_tags = None if view is None else _tags_along(view, loops[0], demands, stop)
        term = None if view is None else term_of(view)
        if view is None or own_tags is None or term is None:
            continue
        if plan.is_shifted(loops[0]):
            hiding_of(view, own_tags.index(loops[0]))
        member = _dependent(view, own_tags, term, changes, members)
        _check_initial(member, members)
        members.append(member)
        changes.statistics.add(member.result)
    if not members:
        return []
    own_loops = tuple(range(root.loop_count))
    return [DependentReductions(tuple(members), _dependent(root, own_loops, root_term, changes, members))]


def _dependent(
    view: StructuredView, tags: Tags, term: Term, changes: Changes, before: Sequence[Dependent]
) -> Dependent:
    change = changes.of_term(term)
    reduction = Dependent(view, tags, term, change)
    for each in before:
        if each.result in change.statistics and not set(each.result_tags) <= set(reduction.result_tags):
            raise RewriteRefusedError(
                view.operation, "it sums up terms of rows that have different statistics"
            )
    how, word = (change.ratio, "factor") if term.is_added else (change.difference, "difference")
    if change.statistics and how is None:
        raise RewriteRefusedError(
            view.operation,
            f"its terms depend on reductions that its loop carries, and no {word} tells how they change",
        )
    return reduction


def _tags_along(
    view: StructuredView, loop: int, demands: Mapping[ir.Value, set[Tags]], stop: frozenset[ir.Operation]
) -> Tags | None:
    """Return the root's loops for those of a reduction that runs along one of them, None if it does not.

    It does where a tile of the root needs a tile of something that the reduction needs a tile of, too.
    """
    if sum(view.is_reduction) != 1 or len(view.operation.results) != 1:
        return None
    reduced = view.is_reduction.index(True)
    needed = demands.get(view.operation.results[0], set())
    if len(needed) > 1:
        return None
    for rows in needed or _rows_of_operands(view, loop, demands):
        tags = dict(zip(view.result_loops[0], rows, strict=True)) | {reduced: loop}
        shared = (loop in own and own in demands[value] for value, own in demanded_values(view, tags, stop))
        if any(shared):
            return tuple(tags.get(each) for each in range(view.loop_count))
    return None


def _rows_of_operands(view: StructuredView, loop: int, demands: Mapping[ir.Value, set[Tags]]) -> list[Tags]:
    """Return the root's loops that may cut the result of a reduction that the root does not need itself."""
    rows = []
    for operand, loops in zip(view.operation.operands, view.operand_loops, strict=True):
        for tags in demands.get(operand, ()):
            of_loops = dict(zip(loops, tags, strict=True))
            rows += [tuple(of_loops.get(each) for each in view.result_loops[0])] if loop in tags else []
    return rows


def _check_initial(reduction: Dependent, before: Sequence[Dependent]) -> None:
    """Refuse initial values that a rescaling would change, or that are known only after the loop."""
    operation = reduction.view.operation
    initial = operation.operands[reduction.view.init_operands[0]]
    needed = needed_by(ir.OpResult(initial).owner) if isinstance(initial, ir.OpResult) else set()
    if any(each.view.operation.operation in needed for each in before):
        raise RewriteRefusedError(operation, "its initial value depends on reductions that its loop carries")
    number = constant_of_fill(initial)
    is_nothing = number is not None and (number == 0.0 if reduction.term.is_added else abs(number) >= LARGEST)
    if reduction.change.statistics and not is_nothing:
        raise RewriteRefusedError(operation, "it is rescaled, but does not start from nothing")


def _ranges(reduction: Dependent, cut: Cut) -> Ranges:
    """Return which part of a statistic belongs to a tile."""
    sizes = b.sizes_of(reduction.result)
    return tuple(
        cut[tag] if tag in cut else Range(0, size, is_whole=True)
        for tag, size in zip(reduction.result_tags, sizes, strict=True)
    )


def _axes(reduction: Dependent, cut: Cut, letters: Mapping[int, str]) -> str:
    """Return the letters of a tile of a statistic; dimensions that it lacks have none."""
    kept = [tag for tag in reduction.result_tags if tag not in cut or not cut[tag].is_dropped]
    return "".join(letters[tag] for tag in kept if tag is not None)


def _converted(scalar: ir.Value | None, kind: ir.Type) -> ir.Value | None:
    if scalar is None or scalar.type == kind:
        return scalar
    return b.widen(scalar, str(kind)) if scalar.type.width < kind.width else b.narrow(scalar, str(kind))
