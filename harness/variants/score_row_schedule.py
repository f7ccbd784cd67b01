"""Steps to whole rows of scores, computed at once or key tile by key tile: of `naive` and `unfused`."""

from collections.abc import Callable, Iterator

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import decompose
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import enclosing_function, functions_of, operations_within
from harness.codegen.payloads.attention_steps import stored
from harness.codegen.rewrites.fission import HandedOn, Kernel, split_grid
from harness.codegen.rewrites.normalization import softmaxes
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.variants.attention_schedule import INSERTION, key_tile, products, returned, step_of
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling


def decompose_softmaxes(module: ir.Module) -> None:
    """Turn softmaxes into linalg, so that producer fusion sees maximum, exponential and sum."""
    for softmax in softmaxes(module):
        decompose(softmax)


def tile_keys_recomputing(module: ir.Module, tiling: Tiling) -> None:
    """Tile the product with V along the keys by producer fusion alone: every tile makes its own statistics.

    Only the tile of Q, which all of them read, is made once.
    """
    scores, values = products(module)[0], products(module)[-1]
    query = scores.operands[0]
    stop = [ir.OpResult(query).owner.opview] if isinstance(query, ir.OpResult) else []
    options = TileOptions(recompute=True)
    tile_and_fuse(values, [0, 0, key_tile(tiling) or tiling.keys], stop=stop, options=options)


def tile_score_rows(module: ir.Module, tiling: Tiling) -> None:
    """Compute whole rows of scores key tile by key tile."""
    keys = key_tile(tiling)
    if not keys:
        return
    for product in products(module):
        if product.results[0].type.shape[-1] == tiling.keys and _is_scores(product):
            root = _finished(product)
            sizes = [0, keys] + [0] * (1 if root is product else 0)
            tile_and_fuse(root, sizes)


def tile_row_statistics(root: ir.Module | ir.OpView, tiling: Tiling) -> None:
    """Compute maximum and total of whole rows key tile by key tile, each from scores of its own."""
    if key_tile(tiling):
        _tile_rows(root, tiling, _reduces_row)


def _tile_rows(root: ir.Module | ir.OpView, tiling: Tiling, is_row: Callable[[ir.OpView, int], bool]) -> None:
    """Tile operations on whole rows along the keys, each with its producers in its own loop."""
    options = TileOptions(recompute=True)

    def rows() -> Iterator[ir.OpView]:
        for operation in operations_within(root.operation):
            if operation.name == "linalg.generic" and is_row(operation, tiling.keys):
                yield operation

    while (operation := next(rows(), None)) is not None:
        tile_and_fuse(operation, [0, tiling.key], options=options)


def _reduces_row(operation: ir.OpView, keys: int) -> bool:
    """Return whether an operation reduces rows of scores to a statistic."""
    source = operation.operands[0].type
    return (
        len(operation.operands) == 2
        and source.rank == 2
        and source.shape[1] == keys
        and operation.results[0].type.rank == 1
    )


def split_kernels(module: ir.Module, tiling: Tiling) -> None:
    """Make three kernels of the grid: scores, softmax, values, with the score matrix in memory.

    What is known of rows besides, such as their log-sum-exp, the second one writes.
    Kernels that hold whole rows overwrite scores with probabilities; others need the scores several times.
    """
    softmax, function = softmaxes(module)[0], functions_of(module)[0]
    of_rows = tuple(range(1, len(returned(function))))
    probabilities = "scores" if tiling.materializes_score_rows else "probabilities"
    kernels = [
        Kernel("scores", HandedOn(softmax.operands[0], "scores")),
        Kernel("softmax", HandedOn(_finished(softmax).results[0], probabilities), of_rows),
        Kernel("values"),
    ]
    split_grid(function, kernels, ("query", "key"))


def tile_softmax_rows(module: ir.Module, tiling: Tiling) -> None:
    """Compute the softmax of stored scores key tile by key tile: maximum, total, probabilities."""
    kernel = enclosing_function(softmaxes(module)[0])
    decompose_softmaxes(module)
    if not key_tile(tiling):
        return
    tile_row_statistics(kernel, tiling)
    for operation in list(operations_within(kernel)):
        if operation.name == INSERTION and operation.operands[0].type.rank == 2:
            store_in_place(operation)
    _tile_rows(kernel, tiling, _stores_row)


def store_in_place(insertion: ir.OpView) -> None:
    """Let a grid's tile be stored by an operation of its own, which can be tiled like any other."""
    forall = insertion.operation.parent.parent.opview
    axes = len(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"]))
    points = list(forall.regions[0].blocks[0].arguments)[:axes]
    tile, shared = list(insertion.operands)[:2]
    place = [*points, *[0] * tile.type.rank]
    sizes = [1] * len(points) + list(tile.type.shape)
    with ir.InsertionPoint(insertion.operation.parent), insertion.location:
        target = b.slice_of(shared, place, sizes, range(len(points), len(sizes)))
        insertion.operation.operands[0] = stored(tile, target)


def _stores_row(operation: ir.OpView, keys: int) -> bool:
    """Return whether an operation stores whole rows."""
    users = [use.owner.name for use in operation.results[0].uses]
    shape = operation.results[0].type.shape
    return len(shape) == 2 and shape[1] == keys and users == [INSERTION]


def _is_scores(product: ir.OpView) -> bool:
    return attn.BatchMatmul(product).layout == "nt"


def _finished(operation: ir.OpView) -> ir.OpView:
    """Return the last of the operations that change an operation's first result element by element, else the
    operation.

    Each is all that uses the one before it.
    """
    finished = operation
    while True:
        users = [use.owner.opview for use in finished.results[0].uses]
        if len(users) != 1 or not _changes_elements(users[0], finished.results[0]):
            return finished
        finished = users[0]


def _changes_elements(operation: ir.OpView, scores: ir.Value) -> bool:
    """Return whether an operation makes each element of its result from the one of the scores."""
    if operation.name == attn.Mask.NAME:
        return True
    if operation.name != "linalg.generic" or operation.operands[0] != scores:
        return False
    maps = [attribute.value for attribute in ir.ArrayAttr(operation.attributes["indexing_maps"])]
    return bool(operation.results[0].type == scores.type and maps[0] == maps[-1])


def score_rows(tiling: Tiling) -> Step:
    """Return the step to rows of scores that are made tile by tile."""
    return step_of("score-rows", "rows of scores in tiles", tile_score_rows, tiling)
