"""Steps that the schedules of attention share, over `harness.codegen.rewrites`."""

from collections.abc import Callable, Mapping, Sequence

from mlir import ir
from mlir.dialects import arith, func, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import decompose_all
from harness.codegen.ir import builder as b
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import enclosing_function, functions_of, operations_within, terminator_of
from harness.codegen.payloads.arguments import DIMENSIONS, arguments_by_buffer, is_projection
from harness.codegen.payloads.packed_attention import sequence_bounds
from harness.codegen.rewrites.loop_distribution import IterationTile, distribute_loop
from harness.codegen.rewrites.normalization import (
    absorb_scale,
    defer_division,
    shift_probabilities,
    softmaxes,
)
from harness.codegen.rewrites.packed_sequences import PackedSequences, key_tile_bounds
from harness.codegen.rewrites.page_table import read_tiles_through_table
from harness.codegen.rewrites.places import place_of
from harness.codegen.rewrites.ranges import as_value, maximum
from harness.codegen.rewrites.simplifications import (
    erase_unused,
    fold_diagonal_products,
    merge_index_arithmetic,
    merge_masks,
    write_into_place,
)
from harness.codegen.rewrites.split_reduction import running_reduction, split_reduction
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.codegen.rewrites.visible_tiles import split_at_masks
from harness.variants.schedule import Step, note_tiles
from harness.variants.tiling import Tiling

INSERTION = "tensor.parallel_insert_slice"
"""Puts the tile of a point of the grid in its place."""

SINGLE = ("batch", "head")
"""Dimensions that loops go over element by element, outermost first: tiles have none for them."""

KEY_LOOP = 2
"""Of the product with V: rows, columns, keys."""


def shift_all_probabilities(module: ir.Module, power: int) -> None:
    """Multiply probabilities by a power of two, and what they weigh by its inverse."""
    for softmax in softmaxes(module):
        shift_probabilities(softmax, power)


def keep_maxima(module: ir.Module, slack: int) -> None:
    """Let running maxima stay until exponentials would exceed a power of two."""
    for softmax in softmaxes(module):
        attn.Softmax(softmax).set_power(attn.SLACK, slack)


def absorb_scales(module: ir.Module) -> None:
    """Move the scale of scores into the exponent of the softmax that takes them."""
    for softmax in softmaxes(module):
        absorb_scale(softmax)
    erase_unused(module)


def divide_once(module: ir.Module) -> None:
    """Divide by the total after the product with V, not before."""
    for softmax in softmaxes(module):
        defer_division(softmax)
    write_into_place(module)


def row_tile(tiling: Tiling) -> int:
    """Return how many queries a tile has, which is noted; 0 where one tile has all."""
    note_tiles(tile_q=min(tiling.query, tiling.queries))
    return tiling.query if tiling.tiles_queries else 0


def key_tile(tiling: Tiling) -> int:
    """Return how many keys a tile has, which is noted; 0 where one tile has all."""
    note_tiles(tile_kv=min(tiling.key, tiling.keys))
    return tiling.key if tiling.key < tiling.keys else 0


def tile_grid(module: ir.Module, tiling: Tiling) -> None:
    """Tile every function's result over batch, head and queries and fuse everything into that grid."""
    for function in functions_of(module):
        _tile_over(function, _tiles_of_rows(tiling))


def _tiles_of_rows(tiling: Tiling) -> dict[str, int]:
    """Return the sizes of tiles along dimensions that are no loops over single elements, by their names."""
    rows = row_tile(tiling)
    return dict.fromkeys(("query", "key", "token"), rows) | {"column": tiling.output_columns}


def _tile_over(function: func.FuncOp, tiles: Mapping[str, int]) -> None:
    """Tile a function's result over batch, head and dimensions of these names, and fuse everything into that
    grid."""
    result, *others = returned(function)
    names = _result_dimensions(function)
    sizes = [1 if name in SINGLE else tiles.get(name, 0) for name in names]
    single = [names.index(name) for name in SINGLE if name in names]
    order = single + [axis for axis in range(len(names)) if axis not in single]
    options = TileOptions(grid=sum(size > 0 for size in sizes), drop=frozenset(single))
    tile_and_fuse(_maker(result), sizes, order, keep_intermediates=others, options=options)


def _result_dimensions(function: func.FuncOp) -> list[str]:
    """Return the names of the dimensions of a function's first result."""
    attributes = ir.DictAttr(list(function.arg_attrs)[-len(returned(function))])
    return [ir.StringAttr(name).value for name in attributes[DIMENSIONS]]


def tile_outer(module: ir.Module, tiling: Tiling) -> None:
    """Tile over batch, head and queries, and turn the kernels into linalg."""
    tile_grid(module, tiling)
    to_linalg(module)


def tile_heads(module: ir.Module, tiling: Tiling) -> None:
    """Tile attention's result over batch and head and fuse everything into that grid, and other results over
    their rows, too."""
    for function in functions_of(module):
        _tile_over(function, {} if softmaxes(function) else _tiles_of_rows(tiling))


def tile_tokens(module: ir.Module, tiling: Tiling) -> None:
    """Tile a packed result `[tokens, heads, width]` over heads and tokens, with everything fused.

    One head comes before its tokens.  Tiles of tokens are the last axis of the grid.
    """
    (function,) = functions_of(module)
    result, *others = returned(function)
    query = row_tile(tiling)
    head = 0 if tiling.problem.heads == 1 else 1
    lengths = {1 - head: _tokens(function, "cu_seqlens_q", query)} if query and tiling.follows_lengths else {}
    options = TileOptions(grid=2 if query else 1, drop=frozenset({head}), lengths=lengths)
    sizes, order = ([1, query, 0], None) if head == 0 else ([query, 1, 0], [1, 0, 2])
    tile_and_fuse(_maker(result), sizes, order, keep_intermediates=others, options=options)


def tile_keys_of_sequences(module: ir.Module, tiling: Tiling) -> None:
    """Tile the product with V along the keys of all sequences, as many as there are."""
    keys = key_tile(tiling)
    lengths: dict[int, ir.Value] = {}
    if keys and tiling.follows_lengths and tiling.pages is None:
        (function,) = functions_of(module)
        lengths = {KEY_LOOP: _tokens(function, "cu_seqlens_kv", keys)}
    tile_keys(module, tiling, lengths=lengths)


def _tokens(function: func.FuncOp, starts: str, least: int) -> ir.Value:
    """Return how many tokens there are, at least a tile's, by where the last sequence ends."""
    array = arguments_by_buffer(function)[starts]
    with ir.InsertionPoint.at_block_begin(function.entry_block), function.location:
        end = tensor.extract(array, [b.index(array.type.shape[0] - 1)])
        return as_value(maximum(arith.index_cast(ir.IndexType.get(), end), least))


def tile_queries(module: ir.Module, tiling: Tiling) -> None:
    """Tile the result of a head over queries, in a loop inside the grid."""
    rows = row_tile(tiling)
    if not rows:
        return
    (function,) = {enclosing_function(softmax) for softmax in softmaxes(module)}
    for grid in [nested for nested in operations_within(function) if nested.name == "scf.forall"]:
        result, *others = [
            nested.operands[0] for nested in operations_within(grid) if nested.name == INSERTION
        ]
        root = _maker(result)
        for place in map(place_of, others):
            _maker(place).move_before(root)
        tile_and_fuse(root, [rows, 0], keep_intermediates=others)


def tile_keys(
    module: ir.Module,
    tiling: Tiling,
    *,
    peels_rest: bool = False,
    keep_keys: bool = False,
    lengths: Mapping[int, ir.Value] | None = None,
) -> None:
    """Tile the product with V along the keys, unless one tile holds all of them.

    With `keep_keys` what computes K and V stays outside of the loop.  `lengths` are as in `TileOptions`.
    """
    keys = key_tile(tiling)
    if not keys:
        return
    scores, values = products_of_attention(module)
    factors = [product.operands[1] for product in (scores, values)] if keep_keys else []
    stop = [ir.OpResult(factor).owner.opview for factor in factors if isinstance(factor, ir.OpResult)]
    options = TileOptions(peels_rest=peels_rest, lengths=lengths or {})
    tile_and_fuse(values, [0, 0, keys], stop=stop, options=options)


def tile_keys_of_kept_heads(module: ir.Module, tiling: Tiling) -> None:
    """Tile the product with V along the keys, and before that project K and V of the head tile by tile."""
    scores, values = products_of_attention(module)
    kept = [_made_before(product.operands[1]) for product in (scores, values)]
    tile_and_fuse(values, [0, 0, key_tile(tiling) or tiling.keys], stop=kept)
    for heads in kept:
        sizes = [tiling.query] + [0] * (2 if heads.name == attn.BatchMatmul.NAME else 1)
        tile_and_fuse(heads, sizes)


def _made_before(value: ir.Value) -> ir.OpView:
    """Return the operation whose result a value is, but for being widened to f32 and masked."""
    maker = _maker(value)
    while maker.name in attn.MASKS or _widens(maker):
        maker = _maker(maker.operands[0])
    return maker


def _widens(operation: ir.OpView) -> bool:
    if operation.name != "linalg.generic":
        return False
    source, result = operation.operands[0].type, operation.results[0].type
    return bool(source.element_type.width < result.element_type.width)


def tile_projections(module: ir.Module, tiling: Tiling) -> None:
    """Tile the projections, all products but attention's, along the columns of what is projected."""
    of_attention = products_of_attention(module)
    for product in [each for each in products(module) if each not in of_attention]:
        width = product.operands[0].type.shape[-1]
        tile = tiling.projected_tile(width)
        if tile < width:
            tile_and_fuse(product, [0, 0, tile])


def split_keys(module: ir.Module, tiling: Tiling) -> None:
    """Go over the key tiles in parts, each from nothing, and merge what the parts give."""
    (loop,) = {softmax.operation.parent for softmax in softmaxes(module)}
    split_reduction(loop.opview, tiling.key_splits)


def distribute_key_splits(module: ir.Module, tiling: Tiling) -> None:
    """Make two kernels: one that goes over all parts of the keys at once, and one that merges them."""
    (loop,) = {softmax.operation.parent for softmax in softmaxes(module)}
    state = running_reduction(loop.opview).state(list(loop.results))
    rows, width = tiling.query, state.output.type.shape[1]
    tiles = [
        IterationTile(state.output, "partial_output", ("query", "width"), (rows, width)),
        IterationTile(state.maximum, "partial_maximum", ("query",), (rows,)),
        IterationTile(state.total, "partial_total", ("query",), (rows,)),
    ]
    distribute_loop(loop.parent.opview, ("parts", "combine"), tiles)


def visit_visible_tiles(module: ir.Module) -> None:
    """Skip key tiles that masks hide, and mask only those that they cut."""
    for loop in {softmax.operation.parent for softmax in softmaxes(module)}:
        if loop.name == "scf.for" and _carries_softmax(loop.opview):
            split_at_masks(loop.opview)


def _carries_softmax(loop: ir.OpView) -> bool:
    block = loop.regions[0].blocks[0]
    inside = [op for op in block.operations if op.name in attn.SOFTMAX_NAMES]
    return any(attn.Softmax(op).initial_maximum in list(block.arguments) for op in inside)


def visit_tiles_of_sequences(module: ir.Module, tiling: Tiling) -> None:
    """Skip key tiles of other sequences, and mask only those that are not seen whole."""
    problem, (function,) = tiling.problem, functions_of(module)
    sequences = PackedSequences(
        sequence_bounds(arguments_by_buffer(function)),
        batch=problem.batch,
        keys=problem.k_shape[0] if tiling.pages is None else tiling.pages.tokens,
        is_causal=problem.causal,
        is_top_left=problem.causal_alignment == "top-left",
        window=problem.window_sides,
    )
    masks = [op for op in operations_within(module.operation) if op.name == attn.RowMask.NAME]
    for mask in masks:
        loop = mask.operation.parent.opview
        if loop.name == "scf.for":
            first_row, rows = _rows_of(attn.RowMask(mask))
            with ir.InsertionPoint(loop), loop.location:
                step = ir.IntegerAttr(ForLoop(loop).step.owner.attributes["value"]).value
                bounds = key_tile_bounds(sequences, first_row, rows, step)
            split_at_masks(loop, bounds)


def look_up_pages(module: ir.Module, tiling: Tiling) -> None:
    """Read tiles of K and V where the page table says."""
    if tiling.pages is not None:
        (function,) = functions_of(module)
        read_tiles_through_table(function, tiling.pages.page_size)


def loop_over_sequences(module: ir.Module) -> None:
    """Take one sequence after the other into the bounds of rows, where they are first needed."""
    masks = [op for op in operations_within(module.operation) if op.name == attn.RowMask.NAME]
    masked_loop_of = {
        bound: mask.operation.parent for mask in reversed(masks) for bound in list(mask.operands)[1:3]
    }
    for bound, masked_loop in masked_loop_of.items():
        reduction = ir.OpResult(bound).owner.opview
        if masked_loop.name == "scf.for":
            reduction.operation.move_before(masked_loop)
        tile_and_fuse(reduction, [0, 1], options=TileOptions(drop=frozenset({1})))


def _rows_of(mask: attn.RowMask) -> tuple[b.Size, int]:
    """Return where the rows of a masked tile start and how many there are.

    The bounds of rows compare `linalg.index`, moved by the tile's offset, with the sequences' starts.
    """
    rows: int = mask.first.type.shape[0]
    body = ir.OpResult(mask.first).owner.regions[0].blocks[0]
    moved = [op for op in body.operations if op.name == "arith.addi" and str(op.results[0].type) == "index"]
    return (moved[0].operands[1] if moved else 0), rows


def to_linalg(module: ir.Module) -> None:
    """Turn what is left of the `attn` dialect into linalg, and drop what nothing uses."""
    fold_diagonal_products(module)
    merge_masks(module)
    decompose_all(module)
    merge_index_arithmetic(module)
    erase_unused(module)


def returned(function: func.FuncOp) -> list[ir.Value]:
    """Return the values that a function returns: what it computes first, then what is known of its rows."""
    return list(terminator_of(function.entry_block).operands)


def _maker(value: ir.Value) -> ir.OpView:
    """Return the operation that makes a value."""
    return ir.OpResult(value).owner.opview


def products_of_attention(module: ir.Module) -> Sequence[ir.OpView]:
    """Return the products with K and with V: those in kernels that attend, after any projection there."""
    of_attention = [product for product in products(module) if not is_projection(enclosing_function(product))]
    return of_attention[-2:]


def products(module: ir.Module | ir.OpView) -> Sequence[ir.OpView]:
    """Return the matrix products in order."""
    return [nested for nested in operations_within(module.operation) if nested.name == attn.BatchMatmul.NAME]


ABSORBED_SCALE = Step("absorbed-scale", "the scale of scores moves into the exponent", absorb_scales)
FINAL_DIVISION = Step("final-division", "divide once, after the product with V", divide_once)
VISIBLE_TILES = Step("visible-tiles", "only key tiles that are seen", visit_visible_tiles)
TILED = Step("tiled", "linalg only", to_linalg)


def step_of(name: str, summary: str, rewrite: Callable[[ir.Module, Tiling], object], tiling: Tiling) -> Step:
    """Return a step whose rewrite looks at the tiling."""
    return Step(name, summary, lambda module: rewrite(module, tiling))


def grid(tiling: Tiling) -> Step:
    """Return the step to a grid of batch, head and query tiles."""
    return step_of("grid", "batch, head and query tiles", tile_grid, tiling)


def key_loop(tiling: Tiling, rewrite: Callable[[ir.Module, Tiling], object] = tile_keys) -> Step:
    """Return the step to a running softmax."""
    summary = "a loop over key tiles that carries maximum, total and output"
    return step_of("key-loop", summary, rewrite, tiling)


def key_splits(tiling: Tiling) -> list[Step]:
    """Return the steps by which keys are gone over in parts."""
    summary = "a loop over parts of the keys, each gone over from nothing, and merged"
    kernels = "a kernel for all parts, and one that merges what they leave in memory"
    return [
        step_of("key-splits", summary, split_keys, tiling),
        step_of("kernels", kernels, distribute_key_splits, tiling),
    ]
