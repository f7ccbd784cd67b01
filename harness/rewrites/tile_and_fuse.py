"""Tile an operation and fuse its producers into the loops.

The loops follow the interchange.  Loops over parallel dimensions that stand outside the first reduction loop
carry the results as a whole and write one tile each; the first `grid` of them become one `scf.forall`.  From
the first reduction loop on, the loops carry the *tile* of the results that the outer loops have cut, and
with it the statistics of softmaxes whose reduced dimension is cut (`harness.rewrites.consumer_rewriting`).

The init rule: what a reduction starts from is made outside the reduction loops, once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mlir import ir
from mlir.dialects import scf, tensor

from harness.dialect import operations as attn
from harness.payloads import builder as b
from harness.rewrites.consumer_rewriting import (
    RunningSoftmax,
    Tags,
    demanded_values,
    rescaled_init,
    running_softmaxes,
)
from harness.rewrites.dimensions import size_of, sizes_of
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.fusion import FusionLog, FusionRules, TileBuilder, erase_dead, whole_ranges_of_loops
from harness.rewrites.ranges import (
    Range,
    Ranges,
    as_value,
    ceiling_divide,
    extract,
    insert,
    minimum,
    multiply,
    subtract,
)
from harness.rewrites.structured import StructuredView, place_of, view_of

RAGGED_TILE = "harness.ragged_tile"
"""Marks a mask that only the last tile of a loop needs."""


class Ragged(StrEnum):
    """What becomes of the last tile where the tile size does not divide a dimension."""

    PARTIAL = "partial"
    """It is smaller: tiles have dynamic sizes."""
    SHIFTED = "shifted"
    """It is moved back to end with the dimension, so that all tiles have one static size.  What it shares with
    the tile before is computed twice in a parallel loop, and masked out in a reduction loop."""
    PEELED = "peeled"
    """Reduction loops only: the loop covers whole tiles, and the rest follows after it with its own static
    size.  Parallel loops are `PARTIAL`."""


@dataclass(frozen=True)
class TileOptions:
    """How to tile and what to fuse."""

    grid: int = 0
    """How many of the outermost loops, all parallel, form one `scf.forall`."""
    drop: frozenset[int] = frozenset()
    """Loops whose tiles of one element leave no dimension in the tile."""
    ragged: Ragged = Ragged.PARTIAL
    recompute: bool = False
    """Fuse also producers that are needed whole, which could be computed once outside."""
    init_outside: bool = True
    """The init rule.  Off, the initial value is made in every iteration, as source document 000 first prints
    it: wrong, and kept to show."""


@dataclass
class TiledNest:
    """The outcome."""

    loops: list[ir.OpView] = field(default_factory=list)
    """Outermost first."""
    roots: list[ir.OpView] = field(default_factory=list)
    """The root on tiles; two where a rest was peeled."""
    results: list[ir.Value] = field(default_factory=list)
    """What replaces the root's results."""
    log: FusionLog = field(default_factory=FusionLog)


def tile_and_fuse(
    root: ir.OpView,
    tile_sizes: Sequence[int],
    interchange: Sequence[int] | None = None,
    *,
    stop: Sequence[ir.OpView] = (),
    keep_intermediates: Sequence[ir.Value] = (),
    options: TileOptions = TileOptions(),  # noqa: B008 (frozen)
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

    Raises `RewriteRefusedError` with the operation and the reason where the result would be wrong or the form is
    not known.
    """
    view = view_of(root)
    if view is None:
        raise RewriteRefusedError(root, "it is not a structured operation with loops that can be tiled")
    nest = _Nest(view, tile_sizes, interchange, stop, keep_intermediates, options)
    nest.check()
    with ir.InsertionPoint(root), root.location:
        nest.build()
    nest.replace_uses()
    return nest.outcome


@dataclass
class _Item:
    """A tensor that the loops produce: the root's result, a statistic of a softmax, or an intermediate."""

    original: ir.Value
    loops: Tags
    initial: ir.Value
    """What a reduction starts from."""
    place: ir.Value
    """The tensor that loops outside all reductions write tiles to."""
    is_exported: bool
    """Whether it is needed after the loops."""


class _Nest:
    def __init__(
        self,
        view: StructuredView,
        tile_sizes: Sequence[int],
        interchange: Sequence[int] | None,
        stop: Sequence[ir.OpView],
        keep: Sequence[ir.Value],
        options: TileOptions,
    ) -> None:
        self.view = view
        self.root = view.operation
        self.sizes = list(tile_sizes)
        self.interchange = list(range(view.loop_count) if interchange is None else interchange)
        self.stop = frozenset(operation.operation for operation in stop)
        self.keep = list(keep)
        self.options = options
        self.outcome = TiledNest()
        self.running: list[RunningSoftmax] = []
        self.items: list[_Item] = []

    # ------------------------------------------------------------------ legality

    def check(self) -> None:
        count = self.view.loop_count
        if len(self.sizes) != count or any(size < 0 for size in self.sizes):
            raise RewriteRefusedError(self.root, f"tile sizes {self.sizes}; expected {count} sizes ≥ 0")
        if sorted(self.interchange) != list(range(count)):
            raise RewriteRefusedError(
                self.root, f"interchange {self.interchange}; expected a permutation of 0 … {count - 1}"
            )
        self.order = [loop for loop in self.interchange if self.sizes[loop]]
        reductions = [loop for loop in self.order if self.view.is_reduction[loop]]
        first = self.order.index(reductions[0]) if reductions else len(self.order)
        self.parallel, self.inner = self.order[:first], self.order[first:]
        if self.options.grid not in (0, len(self.parallel)):
            raise RewriteRefusedError(
                self.root,
                f"a grid of {self.options.grid} loops; expected all {len(self.parallel)} parallel loops outside "
                "the reductions",
            )
        if reductions and self.root.name in attn.SOFTMAX_NAMES:
            raise RewriteRefusedError(
                self.root,
                "its reduced dimension cannot be tiled with the softmax as the root: tile a matrix product that "
                "consumes its probabilities",
            )
        if reductions and not all(self.view.reads_init(result) for result in range(len(self.root.results))):
            raise RewriteRefusedError(self.root, "its reduction does not continue from an initial value")
        if self.options.ragged is Ragged.SHIFTED and any(
            not self.view.is_reduction[loop] and not self._divides(loop) for loop in self.inner
        ):
            raise RewriteRefusedError(
                self.root,
                "a shifted tile of a parallel loop inside a reduction loop would be accumulated twice",
            )
        if self.options.ragged is Ragged.SHIFTED and any(not self._divides(loop) for loop in self.parallel):
            for number, operand in enumerate(self.view.init_operands):
                init = self.root.operands[operand]
                if self.view.reads_init(number) and place_of(init) == init:
                    raise RewriteRefusedError(
                        self.root, "a shifted tile would continue from what the tile before has written"
                    )
        self.running = running_softmaxes(self.view, frozenset(self.order), self.stop)

    def _length(self, loop: int) -> b.Size:
        return size_of(*self.view.axis_of_loop(loop))

    def _divides(self, loop: int) -> bool:
        size = self._length(loop)
        return isinstance(size, int) and size % self.sizes[loop] == 0

    # ------------------------------------------------------------------ what the loops carry

    def _collect_items(self) -> None:
        for result, value in enumerate(self.root.results):
            init = self.root.operands[self.view.init_operands[result]]
            self.items.append(_Item(value, self.view.result_loops[result], init, place_of(init), True))
        for running in self.running:
            softmax = running.softmax
            for value, initial in (
                (softmax.maximum, softmax.initial_maximum),
                (softmax.total, softmax.initial_total),
            ):
                is_exported = value in self.keep or bool(list(value.uses))
                self.items.append(_Item(value, running.row_tags, initial, place_of(initial), is_exported))
        known = [item.original for item in self.items]
        for value in self.keep:
            if value not in known:
                empty = tensor.empty(sizes_of(value), value.type.element_type)
                self.items.append(_Item(value, self._tags_of(value), empty, empty, True))

    def _tags_of(self, value: ir.Value) -> Tags:
        """Return the root's loops that cut a kept intermediate."""
        for demanded, tags in demanded_values(self.view, frozenset(self.order), self.stop):
            if demanded == value:
                return tags
        raise RewriteRefusedError(self.root, f"the intermediate {value.type} is not among what its tiles need")

    # ------------------------------------------------------------------ loops

    def build(self) -> None:
        self._collect_items()
        exported = [item for item in self.items if item.is_exported]
        places = [item.place for item in exported]
        if not self.parallel:
            self.outcome.results = self._tiles({}, exported, places)
        elif self.options.grid:
            self.outcome.results = self._grid(self.parallel, exported, places)
        else:
            self.outcome.results = self._loops(self.parallel, {}, exported, places)

    def _grid(self, grid: list[int], exported: list[_Item], places: list[ir.Value]) -> list[ir.Value]:
        counts = [ceiling_divide(self._length(loop), self.sizes[loop]) for loop in grid]
        zeros, ones = [0] * len(grid), [1] * len(grid)
        forall = scf.ForallOp(zeros, counts, ones, places)
        self.outcome.loops.append(forall)
        with ir.InsertionPoint(forall.body):
            cut = {
                loop: self._tile_range(loop, multiply(number, self.sizes[loop]))
                for loop, number in zip(grid, forall.induction_variables, strict=True)
            }
            carried = list(forall.inner_iter_args)
            tiles = self._tiles(cut, exported, carried)
            self._publish(tiles, carried, exported, self._ranges(cut))
        return list(forall.results)

    def _publish(
        self, tiles: list[ir.Value], carried: list[ir.Value], exported: list[_Item], loops: Ranges
    ) -> None:
        in_parallel = scf.InParallelOp()
        with ir.InsertionPoint(in_parallel.block):
            for tile, place, item in zip(tiles, carried, exported, strict=True):
                ranges = self._item_ranges(item, loops)
                b.parallel_insert(tile, place, [r.offset for r in ranges], [r.size for r in ranges])

    def _loops(
        self, order: list[int], cut: dict[int, Range], exported: list[_Item], carried: list[ir.Value]
    ) -> list[ir.Value]:
        """Build the sequential parallel loops, then their contents; returns the whole results."""
        if not order:
            loops = self._ranges(cut)
            tiles = self._tiles(cut, exported, carried)
            return [
                insert(tile, place, self._item_ranges(item, loops))
                for tile, place, item in zip(tiles, carried, exported, strict=True)
            ]
        return self._for(
            order[0],
            carried,
            lambda part, values: self._loops(order[1:], {**cut, order[0]: part}, exported, values),
        )

    def _for(
        self,
        loop: int,
        carried: list[ir.Value],
        body: Callable[[Range, list[ir.Value]], list[ir.Value]],
        end: b.Size | None = None,
    ) -> list[ir.Value]:
        upper = self._length(loop) if end is None else end
        nest = scf.ForOp(b.index(0), as_value(upper), b.index(self.sizes[loop]), carried)
        self.outcome.loops.append(nest)
        with ir.InsertionPoint(nest.body):
            part = self._tile_range(loop, nest.induction_variable)
            scf.YieldOp(body(part, list(nest.inner_iter_args)))
        return list(nest.results)

    def _tile_range(self, loop: int, start: b.Size) -> Range:
        """Return the tile of a loop that starts there, as the ragged policy has it."""
        length, size = self._length(loop), self.sizes[loop]
        dropped = size == 1 and loop in self.options.drop
        peeled = self.options.ragged is Ragged.PEELED and self.view.is_reduction[loop]
        if size == 1 or peeled or self._divides(loop):
            return Range(start, size, is_dropped=dropped)
        if self.options.ragged is Ragged.SHIFTED and isinstance(length, int):
            return Range(minimum(start, length - size), size, unshifted=start)
        return Range(start, minimum(size, subtract(length, start)))

    # ------------------------------------------------------------------ contents

    def _tiles(self, cut: dict[int, Range], exported: list[_Item], carried: list[ir.Value]) -> list[ir.Value]:
        """Return the tiles that one iteration of the parallel loops contributes."""
        destinations = {item.place: value for item, value in zip(exported, carried, strict=True)}
        loops = self._ranges(cut)
        values = self._inner(loops, destinations)
        return [values[number] for number, item in enumerate(self.items) if item.is_exported]

    def _inner(self, loops: Ranges, destinations: dict[ir.Value, ir.Value]) -> list[ir.Value]:
        """Build the reduction loops and all inside them; returns each item's tile."""
        if not self.inner:
            return self._compute(loops, {}, destinations)
        builder = self._builder({}, destinations)
        values = []
        for item in self.items:
            source = self._initial(item)
            ranges = self._item_ranges(item, loops)
            values.append(builder.tile(source, ranges))
        return self._reduce(self.inner, loops, values)

    def _initial(self, item: _Item) -> ir.Value:
        """Return what an item's state starts as; the place of results that are overwritten in each tile."""
        if item.original in list(self.root.results):
            return item.initial if self.options.init_outside else item.place
        return item.initial

    def _reduce(self, order: list[int], loops: Ranges, values: list[ir.Value]) -> list[ir.Value]:
        if not order:
            return self._step(loops, values)
        loop = order[0]

        def body(part: Range, carried: list[ir.Value]) -> list[ir.Value]:
            return self._reduce(order[1:], self._with(loops, {loop: part}), carried)

        length, size = self._length(loop), self.sizes[loop]
        peels = self.options.ragged is Ragged.PEELED and self.view.is_reduction[loop]
        if not peels or self._divides(loop):
            return self._for(loop, values, body)
        if not isinstance(length, int):
            raise RewriteRefusedError(self.root, "a rest can only be peeled where the length is static")
        whole, rest = length - length % size, length % size
        if whole:
            values = self._for(loop, values, body, end=whole)
        return body(Range(whole, rest), values)

    def _step(self, loops: Ranges, values: list[ir.Value]) -> list[ir.Value]:
        """Take one tile of the reduction into the carried values."""
        inner = set(self.inner)
        places = [self._local_ranges(item, loops, inner) for item in self.items]
        current = [extract(value, place) for value, place in zip(values, places, strict=True)]
        states = dict(zip((item.original for item in self.items), current, strict=True))
        tiles = self._compute(loops, states, {})
        return [insert(t, v, place) for t, v, place in zip(tiles, values, places, strict=True)]

    def _local_ranges(self, item: _Item, loops: Ranges, inner: set[int]) -> Ranges:
        """Return where an item's tile lies in what the reduction loops carry."""
        ranges = []
        for part, loop in zip(self._item_ranges(item, loops), item.loops, strict=True):
            if loop in inner:
                ranges.append(part)
            elif not part.is_dropped:
                ranges.append(Range(0, part.size, is_whole=True))
        return tuple(ranges)

    def _compute(
        self, loops: Ranges, states: dict[ir.Value, ir.Value], destinations: dict[ir.Value, ir.Value]
    ) -> list[ir.Value]:
        """Build the root and its producers on one tile; returns each item's new tile."""
        builder = self._builder(states, destinations)
        corrections = [self._run_softmax(builder, running, loops, states) for running in self.running]
        if states and self.options.init_outside:
            for number, result in enumerate(self.root.results):
                operand = self.view.init_operands[number]
                init = states[result]
                for correction in corrections:
                    init = rescaled_init(self.view, correction, init)
                ranges = self.view.operand_ranges(operand, loops)
                builder.provide(self.root.operands[operand], ranges, init)
        results = builder.operation(self.view, loops)
        self.outcome.roots.append(ir.OpResult(results[0]).owner.opview)
        tiles = []
        for item in self.items:
            ranges = self._item_ranges(item, loops)
            if item.original in list(self.root.results):
                tiles.append(results[ir.OpResult(item.original).result_number])
            else:
                tiles.append(builder.tile(item.original, ranges))
        return tiles

    def _run_softmax(
        self,
        builder: TileBuilder,
        running: RunningSoftmax,
        loops: Ranges,
        states: dict[ir.Value, ir.Value],
    ) -> ir.Value:
        """Build one tile of a running softmax; returns its correction."""
        softmax = running.softmax
        view = view_of(softmax.operation)
        assert view is not None
        tags = list(running.row_tags)
        reduced = self._reduced_loop(softmax)
        tags.insert(softmax.dimension, reduced)
        whole = whole_ranges_of_loops(view)
        own = tuple(whole[axis] if tag is None else loops[tag] for axis, tag in enumerate(tags))
        rows = tuple(part for axis, part in enumerate(own) if axis != softmax.dimension)
        builder.provide(softmax.initial_maximum, rows, states[softmax.maximum])
        builder.provide(softmax.initial_total, rows, states[softmax.total])
        results = builder.operation(view, own)
        for value, result, ranges in zip(
            softmax.operation.results, results, (own, rows, rows, rows), strict=True
        ):
            builder.provide(value, ranges, result)
        return results[3]

    def _reduced_loop(self, softmax: attn.Softmax) -> int:
        reductions = [loop for loop in self.inner if self.view.is_reduction[loop]]
        return reductions[0]

    def _builder(
        self, states: dict[ir.Value, ir.Value], destinations: dict[ir.Value, ir.Value]
    ) -> TileBuilder:
        rewrites = {}
        if self.options.ragged is Ragged.SHIFTED:
            targets = [running.softmax.operation for running in self.running] or [self.root]
            rewrites = {operation.operation: _mask_repeated for operation in targets}
        rules = FusionRules(self.stop, self.options.recompute, rewrites)
        return TileBuilder(rules, self.outcome.log, destinations=destinations)

    # ------------------------------------------------------------------ ranges

    def _ranges(self, cut: dict[int, Range]) -> Ranges:
        return self._with(tuple(whole_ranges_of_loops(self.view)), cut)

    def _with(self, loops: Ranges, cut: dict[int, Range]) -> Ranges:
        return tuple(cut.get(loop, part) for loop, part in enumerate(loops))

    def _item_ranges(self, item: _Item, loops: Ranges) -> Ranges:
        sizes = sizes_of(item.original)
        return tuple(
            Range(0, size, is_whole=True) if loop is None else loops[loop]
            for size, loop in zip(sizes, item.loops, strict=True)
        )

    # ------------------------------------------------------------------ afterwards

    def replace_uses(self) -> None:
        exported = [item for item in self.items if item.is_exported]
        for item, value in zip(exported, self.outcome.results, strict=True):
            item.original.replace_all_uses_with(value)
        block = self.root.operation.block
        erase_dead(list(block.operations))


def _mask_repeated(view: StructuredView, loops: Ranges, tiles: list[ir.Value]) -> list[ir.Value]:
    """Hide, in a reduction's tile that was moved back, what the tile before has seen already."""
    fill = -math.inf if view.operation.name in attn.SOFTMAX_NAMES else 0.0
    ranges = view.operand_ranges(0, loops)
    axes = [axis for axis in range(len(ranges)) if not ranges[axis].is_dropped]
    for loop, axis in zip((view.operand_loops[0][a] for a in axes), range(len(axes)), strict=True):
        start = loops[loop].unshifted
        if not view.is_reduction[loop] or start is None:
            continue
        rank = len(axes)
        seen_before = ir.AffineDimExpr.get(axis) - ir.AffineSymbolExpr.get(0)
        offsets = [as_value(loops[loop].offset if other == axis else 0) for other in range(rank)]
        mask = attn.mask(
            tiles[0], ir.AffineMap.get(rank, 1, [seen_before]), offsets, [as_value(start)], fill=fill
        )
        mask.operation.attributes[RAGGED_TILE] = ir.UnitAttr.get()
        tiles[0] = mask.masked
    return tiles
