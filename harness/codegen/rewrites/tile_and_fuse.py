"""Tile an operation and fuse its producers into the loops.

The loops follow the interchange.  Loops over parallel dimensions that stand outside the first reduction loop
carry the results as a whole and write one tile each; the first `grid` of them become one `scf.forall`.  From
the first reduction loop on, the loops carry the *tile* of the results that the outer loops have cut, and
with it the statistics of softmaxes whose reduced dimension is cut
(`harness.codegen.rewrites.consumer_rewriting`).

The init rule: what a reduction starts from is made outside the reduction loops, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mlir import ir
from mlir.dialects import arith, scf

from harness.codegen.dialect.operations import SOFTMAX_NAMES, loop_letters
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import enclosing_function
from harness.codegen.rewrites.carried import Carried, carried_tensors
from harness.codegen.rewrites.consumer_rewriting import running_softmaxes
from harness.codegen.rewrites.dependencies import erase_dead, redirect
from harness.codegen.rewrites.dependent_reductions import dependent_reductions
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.fusion import FusionRules, TileBuilder
from harness.codegen.rewrites.places import resolve_sizes
from harness.codegen.rewrites.plan import TileOptions, TilingPlan, check_seen_once, planned
from harness.codegen.rewrites.ranges import (
    Range,
    Ranges,
    as_value,
    ceil_divide,
    extract,
    insert,
    minimum,
    multiply,
    subtract,
)
from harness.codegen.rewrites.repeated_elements import hide_repeated
from harness.codegen.rewrites.running import Cut, Running
from harness.codegen.rewrites.structured import view_of

__all__ = ["TileOptions", "TiledNest", "tile_and_fuse"]

_DEFAULTS = TileOptions()


@dataclass
class TiledNest:
    """The outcome."""

    loops: list[ir.OpView] = field(default_factory=list)
    """Outermost first."""
    roots: list[ir.OpView] = field(default_factory=list)
    """The root on tiles; two where a rest was peeled."""
    results: list[ir.Value] = field(default_factory=list)
    """What replaces the root's results."""


def tile_and_fuse(
    root: ir.OpView,
    tile_sizes: Sequence[int],
    interchange: Sequence[int] | None = None,
    *,
    stop: Sequence[ir.OpView] = (),
    keep_intermediates: Sequence[ir.Value] = (),
    options: TileOptions = _DEFAULTS,
) -> TiledNest:
    """Replace an operation by loops over tiles of it, with its producers fused into them.

    Args:
        root: a structured operation on tensors.
        tile_sizes: one for each loop of the root, 0 for no loop.
        interchange: the loops' order, outermost first; by default as they are numbered.
        stop: producers that stay outside the loops.
        keep_intermediates: results of fused producers that are needed outside the loops, too: the loops yield
            them as extra results.
        options: see `TileOptions`.

    The root is gone afterwards; `roots` of the outcome are the root on tiles, which can be tiled next.

    Raises `RewriteRefusedError` with the operation and the reason where the result would be wrong or the form
    is not known; the IR is then as it was, but for where sizes are taken from (`resolve_sizes`).
    """
    view = view_of(root)
    if view is None:
        raise RewriteRefusedError(root, "it is not a structured operation with loops that can be tiled")
    resolve_sizes(enclosing_function(root))
    plan = planned(view, tile_sizes, interchange, options)
    stopped = frozenset(operation.operation for operation in stop)
    running: list[Running] = [*running_softmaxes(view, plan.tiled, stopped)]
    if options.carries_reductions:
        running += dependent_reductions(plan, stopped, keep_intermediates)
    check_seen_once(running, plan)
    block = root.operation.block
    existing = {operation.operation for operation in block.operations}
    try:
        with ir.InsertionPoint(root), root.location:
            carried = carried_tensors(plan, running, keep_intermediates, stopped)
            nest = _Nest(plan, stopped, running, carried)
            nest.build()
    except RewriteRefusedError:
        for operation in reversed(list(block.operations)):
            if operation.operation not in existing:
                operation.operation.erase()
        raise
    made = {operation.operation for operation in block.operations} - existing
    exported = [each.original for each in carried if each.is_exported]
    redirect(root, list(zip(exported, nest.outcome.results, strict=True)), made)
    resolve_sizes(enclosing_function(root))
    root.operation.erase()  # through the caller's handle, which is invalid from now on
    erase_dead(list(block.operations))
    return nest.outcome


class _Nest:
    def __init__(
        self,
        plan: TilingPlan,
        stop: frozenset[ir.Operation],
        running: Sequence[Running],
        carried: list[Carried],
    ) -> None:
        self.plan = plan
        self.view = plan.view
        self.root = plan.view.operation
        self.stop = stop
        self.running = running
        self.carried = carried
        self.exported = [each for each in carried if each.is_exported]
        self.outcome = TiledNest()

    def build(self) -> None:
        places = [each.place for each in self.exported]
        if self.plan.options.grid:
            self.outcome.results = self._grid(places)
        else:
            self.outcome.results = self._loops(self.plan.parallel, {}, places)

    def _grid(self, places: list[ir.Value]) -> list[ir.Value]:
        grid = self.plan.parallel
        counts = [ceil_divide(self.view.size(loop), self.plan.sizes[loop]) for loop in grid]
        forall = scf.ForallOp([0] * len(grid), counts, [1] * len(grid), places)
        self.outcome.loops.append(forall)
        with ir.InsertionPoint(forall.body):
            cut = {
                loop: self._tile_range(loop, multiply(number, self.plan.sizes[loop]))
                for loop, number in zip(grid, forall.induction_variables, strict=True)
            }
            values = list(forall.inner_iter_args)
            tiles = self._tiles(cut, values)
            parts = [_ranges_of(each, cut) for each in self.exported]
            in_parallel = scf.InParallelOp()
            with ir.InsertionPoint(in_parallel.block):
                for tile, place, ranges in zip(tiles, values, parts, strict=True):
                    b.parallel_insert(tile, place, [r.offset for r in ranges], [r.size for r in ranges])
        return list(forall.results)

    def _loops(self, order: Sequence[int], cut: Cut, values: list[ir.Value]) -> list[ir.Value]:
        if not order:
            tiles = self._tiles(cut, values)
            return [
                insert(tile, place, _ranges_of(each, cut))
                for tile, place, each in zip(tiles, values, self.exported, strict=True)
            ]
        return self._for(
            order[0], values, lambda part, inner: self._loops(order[1:], {**cut, order[0]: part}, inner)
        )

    def _for(
        self,
        loop: int,
        values: list[ir.Value],
        body: Callable[[Range, list[ir.Value]], list[ir.Value]],
        end: int | None = None,
    ) -> list[ir.Value]:
        upper = self.view.size(loop) if end is None else end
        nest = scf.ForOp(b.index(0), as_value(upper), b.index(self.plan.sizes[loop]), values)
        self.outcome.loops.append(nest)
        with ir.InsertionPoint(nest.body):
            part = self._tile_range(loop, nest.induction_variable)
            scf.YieldOp(body(part, list(nest.inner_iter_args)))
        return list(nest.results)

    def _tile_range(self, loop: int, start: b.Size) -> Range:
        size = self.plan.sizes[loop]
        if not self.view.has_length(loop):
            return Range(start, minimum(size, subtract(self.view.size(loop), start)))
        if self.plan.is_shifted(loop):
            end = self.plan.options.lengths.get(loop, self.view.length(loop))
            return Range(minimum(start, subtract(end, size)), size, unshifted=start)
        return Range(start, size, is_dropped=size == 1 and loop in self.plan.options.drop)

    def _tiles(self, cut: Cut, values: list[ir.Value]) -> list[ir.Value]:
        destinations = {
            each.place: value
            for each, value in zip(self.exported, values, strict=True)
            if each.is_written_in_place
        }
        tiles = self._inner(cut, destinations)
        return [tiles[number] for number, each in enumerate(self.carried) if each.is_exported]

    def _inner(self, cut: Cut, destinations: dict[ir.Value, ir.Value]) -> list[ir.Value]:
        """Build the reduction loops and all inside them; returns each carried tensor's tile."""
        if not self.plan.inner:
            return self._compute(cut, {}, destinations)
        builder = self._builder(destinations)
        ranges = [_ranges_of(each, cut) for each in self.carried]
        initial = [
            builder.tile(self._initial(each), part) for each, part in zip(self.carried, ranges, strict=True)
        ]
        reduced = self._reduce(self.plan.inner, cut, initial)
        return [
            value if each.addend is None else _sum(builder.tile(each.addend, part), value)
            for each, part, value in zip(self.carried, ranges, reduced, strict=True)
        ]

    def _initial(self, each: Carried) -> ir.Value:
        is_made_inside = each.is_root_result and not self.plan.options.init_outside
        return each.place if is_made_inside else each.initial

    def _reduce(self, order: Sequence[int], cut: Cut, values: list[ir.Value]) -> list[ir.Value]:
        if not order:
            return self._step(cut, values)
        loop = order[0]

        def body(part: Range, inner: list[ir.Value]) -> list[ir.Value]:
            return self._reduce(order[1:], {**cut, loop: part}, inner)

        if not self.plan.is_peeled(loop):
            return self._for(loop, values, body)
        rest = self.plan.rest(loop)
        whole = self.view.length(loop) - rest
        values = self._for(loop, values, body, end=whole)
        return body(Range(whole, rest), values)

    def _step(self, cut: Cut, values: list[ir.Value]) -> list[ir.Value]:
        places = [self._local_ranges(each, cut) for each in self.carried]
        current = [extract(value, place) for value, place in zip(values, places, strict=True)]
        states = dict(zip((each.original for each in self.carried), current, strict=True))
        tiles = self._compute(cut, states, {})
        return [insert(t, v, place) for t, v, place in zip(tiles, values, places, strict=True)]

    def _local_ranges(self, each: Carried, cut: Cut) -> Ranges:
        """Return where a tile lies in what the reduction loops carry."""
        ranges = []
        for part, loop in zip(_ranges_of(each, cut), each.loops, strict=True):
            if loop in self.plan.inner:
                ranges.append(part)
            elif not part.is_dropped:
                ranges.append(Range(0, part.size, is_whole=True))
        return tuple(ranges)

    def _compute(
        self, cut: Cut, states: dict[ir.Value, ir.Value], destinations: dict[ir.Value, ir.Value]
    ) -> list[ir.Value]:
        """Build the root and its producers on one tile; returns each carried tensor's new tile."""
        builder = self._builder(destinations)
        for running in self.running:
            running.advance(builder, cut, states)
        init_tiles = {}
        if states and self.plan.options.init_outside:
            for operand, result in zip(self.view.init_operands, self.root.results, strict=True):
                init_tiles[operand] = states[result]
                for running in self.running:
                    init_tiles[operand] = running.rescaled(builder, cut, states, init_tiles[operand])
        results = builder.operation(self.view, self.view.ranges(cut), init_tiles)
        if isinstance(results[0], ir.OpResult):
            self.outcome.roots.append(ir.OpResult(results[0]).owner.opview)
        return [
            results[ir.OpResult(each.original).result_number]
            if each.is_root_result
            else builder.tile(each.original, _ranges_of(each, cut))
            for each in self.carried
        ]

    def _builder(self, destinations: dict[ir.Value, ir.Value]) -> TileBuilder:
        """Return a builder; where reduction tiles are moved back, it hides what they repeat."""
        reducers = [operation for running in self.running for operation, _ in running.reductions]
        if not any(operation.name in SOFTMAX_NAMES for operation in reducers):
            reducers.append(self.root)
        rewrites = {operation.operation: hide_repeated for operation in reducers}
        return TileBuilder(FusionRules(self.stop, self.plan.options.recompute, rewrites), destinations)


def _ranges_of(each: Carried, cut: Cut) -> Ranges:
    return tuple(
        Range(0, size, is_whole=True) if loop is None or loop not in cut else cut[loop]
        for size, loop in zip(b.sizes_of(each.original), each.loops, strict=True)
    )


def _sum(addend: ir.Value, value: ir.Value) -> ir.Value:
    axes = loop_letters(value.type.rank)
    return b.structured(f"{axes}->{axes}", [addend], value, arith.addf, takes_init=True)
