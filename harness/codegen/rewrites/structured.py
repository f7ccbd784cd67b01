"""One view of all structured operations: loops, and along which loops each operand and result lies.

Covers linalg operations, named and generic, whose operands are indexed by loops alone, and the `attn`
dialect's.  A view can build the same operation on tiles.

It keeps the contract that upstream's C++ has as `TilingInterface`, which operations defined in IRDL cannot
implement:

- `getLoopIteratorTypes`: `is_reduction`; `getIterationDomain`: `ranges` of no cut.
- `getTiledImplementation`: `build` on tiles of operands, which are those of `operand_ranges`.
- `getResultTilePosition`: `result_loops`, along which a tile of loops is a tile of a result; read backwards
  it is `generateResultTileValue`, by which a producer is built on the tile that its consumer asks for.
- `PartialReductionOpInterface` is more than is asked for: a reduction that goes on from its initial value
  (`init_operands`, `reads_init`) is tiled by a loop that carries its results.  Where several results are
  carried, all of them must be exact for what was seen so far.
- Tiles that cover the loops once give the result of the whole operation, in any order of parallel loops.
  Loops in `uncut` are an exception: a tile along them would count what others count, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import Range, Ranges, add, as_value

Loops = tuple[int, ...]
"""For each dimension of a value, the loop that runs along it."""


@dataclass(frozen=True)
class StructuredView:
    """The loops of a structured operation."""

    operation: ir.OpView
    is_reduction: tuple[bool, ...]
    operand_loops: tuple[Loops, ...]
    """Scalars have none."""
    result_loops: tuple[Loops, ...]
    init_operands: tuple[int, ...]
    """For each result, the operand that holds its initial value or just its place."""
    uncut: Loops = ()
    """Loops that no tiling of the operation itself may cut, as parts of them would repeat work on others."""

    @property
    def loop_count(self) -> int:
        """Number of loops."""
        return len(self.is_reduction)

    def axis_of_loop(self, loop: int) -> tuple[ir.Value, int]:
        """Return an operand and its axis that the loop runs along, one of static size if there is one."""
        axes = [
            (value, loops.index(loop))
            for value, loops in zip(self.operation.operands, self.operand_loops, strict=True)
            if loop in loops
        ]
        if not axes:
            raise RewriteRefusedError(self.operation, f"loop {loop} runs along no operand")
        return next((each for each in axes if not each[0].type.is_dynamic_dim(each[1])), axes[0])

    def has_length(self, loop: int) -> bool:
        """Return whether it is known before the run how often a loop runs."""
        value, axis = self.axis_of_loop(loop)
        return not value.type.is_dynamic_dim(axis)

    def length(self, loop: int) -> int:
        """Return how often a loop runs; raises `RewriteRefusedError` where only the run tells."""
        value, axis = self.axis_of_loop(loop)
        if value.type.is_dynamic_dim(axis):
            raise RewriteRefusedError(self.operation, f"how often loop {loop} runs is known only at run time")
        length: int = value.type.shape[axis]
        return length

    def size(self, loop: int) -> b.Size:
        """Return how often a loop runs, at the current insertion point where only the run tells."""
        return b.size_of(*self.axis_of_loop(loop))

    def ranges(self, cut: Mapping[int, Range]) -> Ranges:
        """Return the ranges of all loops: those that are not cut run whole."""
        return tuple(
            cut[loop] if loop in cut else Range(0, self.size(loop), is_whole=True)
            for loop in range(self.loop_count)
        )

    def operand_ranges(self, operand: int, loops: Ranges) -> Ranges:
        """Return which tile of an operand the loop ranges touch."""
        return tuple(loops[loop] for loop in self.operand_loops[operand])

    def reads_init(self, result: int) -> bool:
        """Whether the initial value matters, as it does to a reduction."""
        operand = self.init_operands[result]
        if self.operation.name in _ATTN_FORMS:
            return operand in _ATTN_FORMS[self.operation.name].read_inits
        block = self.operation.regions[0].blocks[0]
        argument = block.arguments[operand]
        return bool(list(argument.uses)) and self.operation.name != "linalg.fill"

    def build(self, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
        """Build the operation on tiles of its operands, at the current insertion point."""
        name = self.operation.name
        if name in _ATTN_FORMS:
            return _ATTN_FORMS[name].build(self.operation, tiles, loops)
        if name == "linalg.fill":
            return [linalg.fill(tiles[0], outs=[tiles[1]])]
        if self._is_copy(loops):
            return [tiles[0]]
        if name != "linalg.generic" and not any(part.is_dropped for part in loops):
            return _build_named(self.operation, tiles)
        return _build_generic(self, tiles, loops)

    def _is_copy(self, loops: Ranges) -> bool:
        """Whether on these tiles, which may lack dimensions, nothing is left to broadcast or transpose."""
        if self.operation.name not in ("linalg.broadcast", "linalg.transpose"):
            return False
        source, result = (
            [loop for loop in operand if not loops[loop].is_dropped] for operand in self.operand_loops
        )
        return source == result


def view_of(operation: ir.OpView | ir.Operation | ir.Block | None) -> StructuredView | None:
    """Return the view of a structured operation, or None for anything else.

    Operations that index an operand by more than loops (a convolution) have no view either.
    """
    if not isinstance(operation, ir.OpView):
        return None
    if operation.name in _ATTN_FORMS:
        form = _ATTN_FORMS[operation.name]
        return replace(
            _with_loops(operation, form.loops(operation), form.init_operands), uncut=form.uncut(operation)
        )
    if not operation.name.startswith("linalg.") or not operation.results:
        return None
    maps = [attribute.value for attribute in linalg.get_indexing_maps(operation)]
    if not all(isinstance(result, ir.AffineDimExpr) for mapping in maps for result in mapping.results):
        return None
    loops = [tuple(result.position for result in mapping.results) for mapping in maps]
    return _with_loops(operation, loops, range(len(loops) - len(operation.results), len(loops)))


def _with_loops(
    operation: ir.OpView, operand_loops: Sequence[Loops], init_operands: Sequence[int]
) -> StructuredView:
    """Return the view of an operation; what no result has a dimension for is a reduction."""
    result_loops = tuple(operand_loops[operand] for operand in init_operands)
    parallel = set.intersection(*(set(loops) for loops in result_loops))
    count = 1 + max((loop for loops in operand_loops for loop in loops), default=-1)
    return StructuredView(
        operation=operation,
        is_reduction=tuple(loop not in parallel for loop in range(count)),
        operand_loops=tuple(operand_loops),
        result_loops=result_loops,
        init_operands=tuple(init_operands),
    )


def _build_named(operation: ir.OpView, tiles: Sequence[ir.Value]) -> list[ir.Value]:
    tiled = operation.operation.clone()
    for position, tile in enumerate(tiles):
        tiled.operands[position] = tile
    inits = tiles[len(tiles) - len(operation.results) :]
    for result, init in zip(tiled.results, inits, strict=True):
        result.set_type(init.type)
    return list(tiled.results)


def _build_generic(view: StructuredView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    """Build a `linalg.generic` with the operation's body; loops that tiles lack disappear from the maps."""
    kept = [loop for loop, part in enumerate(loops) if not part.is_dropped]
    position = {loop: number for number, loop in enumerate(kept)}
    maps = [
        ir.AffineMap.get(
            len(kept), 0, [ir.AffineDimExpr.get(position[loop]) for loop in operand if loop in position]
        )
        for operand in view.operand_loops
    ]
    kinds = ["reduction" if view.is_reduction[loop] else "parallel" for loop in kept]
    first_init = view.init_operands[0]
    generic = linalg.GenericOp(
        [tile.type for tile in tiles[first_init:]],
        list(tiles[:first_init]),
        list(tiles[first_init:]),
        ir.ArrayAttr.get([ir.AffineMapAttr.get(mapping) for mapping in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]),
    )
    template = view.operation.operation.clone()
    template.regions[0].blocks[0].append_to(generic.regions[0])
    template.operation.erase()
    _move_indices(generic, loops, position)
    return list(generic.results)


def _move_indices(generic: ir.OpView, loops: Ranges, position: dict[int, int]) -> None:
    """Make `linalg.index` in a tile's body count from the tile's offset."""
    for operation in list(operations_within(generic)):
        if operation.name != "linalg.index":
            continue
        loop = ir.IntegerAttr(operation.attributes["dim"]).value
        part = loops[loop]
        if loop not in position:
            with ir.InsertionPoint(generic):
                offset = as_value(part.offset)
            operation.results[0].replace_all_uses_with(offset)
            operation.operation.erase()
            continue
        operation.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position[loop])
        if part.offset != 0:
            _shift_index(generic, operation, part.offset)


def _shift_index(generic: ir.OpView, operation: ir.OpView, offset: b.Size) -> None:
    with ir.InsertionPoint(generic):
        start = as_value(offset)
    with ir.InsertionPoint(operation):
        local = linalg.IndexOp(ir.IntegerAttr(operation.attributes["dim"]).value).result
        moved = arith.addi(local, start)
    operation.results[0].replace_all_uses_with(moved)
    operation.operation.erase()


def _batch_matmul_loops(operation: ir.OpView) -> list[Loops]:
    letters = attn.BatchMatmul(operation).subscripts()
    order = letters[2] + "k"
    return [tuple(order.index(letter) for letter in operand) for operand in letters]


def _softmax_loops(operation: ir.OpView) -> list[Loops]:
    softmax = attn.Softmax(operation)
    full = tuple(range(softmax.x.type.rank))
    rows = tuple(loop for loop in full if loop != softmax.dimension)
    return [full, full, rows, rows, rows]


def _attention_loops(operation: ir.OpView) -> list[Loops]:
    """Loops are those of the scores, batch, query and key, then the columns of V, then those of Q and K."""
    attention = attn.Attention(operation)
    rank = attention.query.type.rank
    (*batch, query), key, column, depth = range(rank - 1), rank - 1, rank, rank + 1
    rows = (*batch, query)
    scores = (*rows, key)
    of_scores = [tuple(scores[axis] for axis in each.axes) for each in attention.score_operands.values()]
    return [
        (*rows, depth),
        (*batch, key, depth),
        (*batch, key, column),
        (*rows, column),
        rows,
        rows,
        *of_scores,
    ]


def _attention_uncut(operation: ir.OpView) -> Loops:
    """Parts of the columns of V would count all keys again; parts of those of Q and K are no scores."""
    rank = attn.Attention(operation).query.type.rank
    return rank, rank + 1


def _diag_loops(operation: ir.OpView) -> list[Loops]:
    matrix = tuple(range(attn.Diag(operation).x.type.rank + 1))
    return [matrix[:-1], matrix]


def _mask_loops(operation: ir.OpView) -> list[Loops]:
    """Masks look at the whole of their operands but for lengths, one a batch, and what is of each row."""
    loops = tuple(range(operation.operands[0].type.rank))
    of_operands = {
        attn.Mask.NAME: [],
        attn.LengthMask.NAME: [loops[:1]],
        attn.RowMask.NAME: [loops[-2:-1]] * 2,
    }
    vectors = of_operands[operation.name]
    return [loops, *vectors, *[()] * (len(operation.operands) - 1 - len(vectors))]


def _build_batch_matmul(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    if any(part.is_dropped for part in loops[-3:]):
        raise RewriteRefusedError(operation, "only its batch dimensions can be left out of a tile")
    layout = attn.BatchMatmul(operation).layout
    return [attn.batch_matmul(tiles[0], tiles[1], tiles[2], layout).product]


def _build_softmax(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    softmax = attn.Softmax(operation)
    if loops[softmax.dimension].is_dropped:
        raise RewriteRefusedError(operation, "its reduced dimension cannot be left out of a tile")
    dropped_before = sum(part.is_dropped for part in loops[: softmax.dimension])
    tiled = attn.softmax(
        *tiles,
        dimension=softmax.dimension - dropped_before,
        scale=softmax.scale,
        normalized=softmax.is_normalized,
        like=softmax,
    )
    return list(tiled.operation.results)


def _build_attention(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    attention = attn.Attention(operation)
    of_scores = attention.query.type.rank
    if any(part.is_dropped for part in loops[of_scores - 2 :]):
        raise RewriteRefusedError(operation, "only its batch dimensions can be left out of a tile")
    kept = [axis for axis, part in enumerate(loops[:of_scores]) if not part.is_dropped]
    changes = {
        name: attn.ScoreOperand(tile, tuple(kept.index(axis) for axis in operand.axes if axis in kept))
        for (name, operand), tile in zip(attention.score_operands.items(), tiles[6:], strict=True)
    }
    return list(attn.attention(*tiles[:6], scale=attention.scale, **changes).operation.results)


def _build_diag(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    if loops[-1].key() != loops[-2].key():
        raise RewriteRefusedError(operation, "a tile of it must cover the same rows as columns")
    return [attn.diag(tiles[0], tiles[1]).matrix]


def _build_mask(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    mask = attn.Mask(operation)
    offsets, kept = _place_of_tile(mask, loops)
    tiled = attn.mask(tiles[0], mask.visible, offsets, mask.symbols, dimensions=kept, fill=mask.fill)
    return [tiled.masked]


def _build_length_mask(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    """Build the mask of a tile; where that has one length only, the length is a symbol."""
    mask = attn.LengthMask(operation)
    offsets, kept = _place_of_tile(mask, loops)
    if not loops[0].is_dropped:
        visible, fill = mask.visible, mask.fill
        return [attn.length_mask(tiles[0], tiles[1], visible, offsets, dimensions=kept, fill=fill).masked]
    length = arith.index_cast(ir.IndexType.get(), tensor.extract(tiles[1], []))
    return [attn.mask(tiles[0], mask.visible, offsets, [length], dimensions=kept, fill=mask.fill).masked]


def _place_of_tile(mask: attn.Mask | attn.LengthMask, loops: Ranges) -> tuple[list[ir.Value], list[int]]:
    """Return where a tile starts along each dimension of a mask's map, and along which its axes run."""
    offsets = mask.offsets
    for dimension, part in zip(mask.dimensions, loops, strict=True):
        offsets[dimension] = as_value(add(offsets[dimension], part.offset))
    return offsets, [d for d, part in zip(mask.dimensions, loops, strict=True) if not part.is_dropped]


def _build_row_mask(operation: ir.OpView, tiles: Sequence[ir.Value], loops: Ranges) -> list[ir.Value]:
    if any(part.is_dropped for part in loops[-2:]):
        raise RewriteRefusedError(operation, "its rows and columns cannot be left out of a tile")
    mask = attn.RowMask(operation)
    offset = as_value(add(mask.offset, loops[-1].offset))
    return [attn.row_mask(tiles[0], tiles[1], tiles[2], offset, fill=mask.fill).masked]


@dataclass(frozen=True)
class _AttnForm:
    """How an `attn` operation is seen and built."""

    loops: Callable[[ir.OpView], list[Loops]]
    """Loops along each operand."""
    build: Callable[[ir.OpView, Sequence[ir.Value], Ranges], list[ir.Value]]
    init_operands: tuple[int, ...]
    read_inits: tuple[int, ...]
    uncut: Callable[[ir.OpView], Loops] = lambda operation: ()


_SOFTMAX = _AttnForm(_softmax_loops, _build_softmax, (1, 2, 3, 4), (2, 3))
_ATTN_FORMS = {
    attn.BatchMatmul.NAME: _AttnForm(_batch_matmul_loops, _build_batch_matmul, (2,), (2,)),
    attn.SOFTMAX_NAMES[0]: _SOFTMAX,
    attn.SOFTMAX_NAMES[1]: _SOFTMAX,
    attn.Attention.NAME: _AttnForm(
        _attention_loops, _build_attention, (3, 4, 5), (3, 4, 5), _attention_uncut
    ),
    attn.Diag.NAME: _AttnForm(_diag_loops, _build_diag, (1,), ()),
    attn.Mask.NAME: _AttnForm(_mask_loops, _build_mask, (0,), (0,)),
    attn.LengthMask.NAME: _AttnForm(_mask_loops, _build_length_mask, (0,), (0,)),
    attn.RowMask.NAME: _AttnForm(_mask_loops, _build_row_mask, (0,), (0,)),
}
