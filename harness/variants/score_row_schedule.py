"""Steps to whole rows of scores, computed at once or key tile by key tile: of `naive` and `unfused`."""

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import decompose
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.payloads.attention_steps import widened
from harness.codegen.rewrites.fission import HandedOn, Kernel, split_grid
from harness.codegen.rewrites.normalization import softmaxes
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.variants.attention_schedule import INSERTION, key_tile, products, returned, step_of
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

ROWS, SCORES = ("query",), ("query", "key")
"""Names of the dimensions of what kernels leave: of numbers of rows, and of what each score has."""


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


def tile_row_statistics(module: ir.Module, tiling: Tiling) -> None:
    """Compute maximum and total of whole rows key tile by key tile, each from scores of its own."""
    if key_tile(tiling):
        while reductions := _row_reductions(module, tiling):
            tile_and_fuse(reductions[0], [0, tiling.key], options=TileOptions(recompute=True))


def _row_reductions(root: ir.Module | ir.OpView, tiling: Tiling) -> list[ir.OpView]:
    """Return the operations within that reduce whole rows of scores to a statistic."""
    return [op for op in operations_within(root.operation) if _reduces_row(op, tiling.keys)]


def _reduces_row(operation: ir.OpView, keys: int) -> bool:
    """Return whether an operation reduces rows of scores to a statistic."""
    if operation.name != "linalg.generic" or len(operation.operands) != 2:
        return False
    source = operation.operands[0].type
    return source.rank == 2 and source.shape[1] == keys and operation.results[0].type.rank == 1


def split_kernels_of_rows(module: ir.Module) -> None:
    """Make three kernels of the grid: scores, softmax, values, each of which holds whole rows.

    Probabilities overwrite scores in memory.  What is known of rows besides, such as their log-sum-exp, the
    second one writes.
    """
    softmax, function = softmaxes(module)[0], functions_of(module)[0]
    kernels = [
        Kernel("scores", (HandedOn(softmax.operands[0], "scores", SCORES),)),
        Kernel("softmax", (HandedOn(_finished(softmax).results[0], "scores", SCORES),), _of_rows(function)),
        Kernel("values"),
    ]
    split_grid(function, kernels)


def split_kernels_of_tiles(module: ir.Module, tiling: Tiling, dtype: str) -> None:
    """Make three kernels of the grid that can go over rows tile by tile: scores, softmax, values.

    The first one leaves scores, in a type that may be narrower than f32, and the maximum of each row, the
    second one probabilities relative to it, in the type of V, and their total.
    """
    (softmax,), (function,) = softmaxes(module), functions_of(module)
    view = attn.Softmax(softmax)
    scores = _as_stored(view.x, dtype)
    probabilities = _as_stored(view.probability, tiling.problem.dtype)
    from_nothing = view.initial_total
    maximum, total = (made.results[0] for made in decompose(softmax) if _reduces_row(made, tiling.keys))
    total.owner.operands[1] = from_nothing  # which no maximum rescales
    kernels = [
        Kernel("scores", (HandedOn(scores, "scores", SCORES), HandedOn(maximum, "maximum", ROWS))),
        Kernel(
            "softmax",
            (HandedOn(probabilities, "probabilities", SCORES), HandedOn(total, "total", ROWS)),
            _of_rows(function),
        ),
        Kernel("values"),
    ]
    split_grid(function, kernels)


def _of_rows(function: ir.OpView) -> tuple[int, ...]:
    """Return which results of a kernel are of its rows alone."""
    return tuple(range(1, len(returned(function))))


def _as_stored(value: ir.Value, dtype: str) -> ir.Value:
    """Let all that use a tensor take it from a copy in a dtype, which is returned."""
    uses = list(value.uses)
    producer = ir.OpResult(value).owner
    with ir.InsertionPoint.after(producer), producer.location:
        stored = b.elementwise(value, lambda element: b.narrow(element, dtype), dtype)
        wide = widened(stored)
    for use in uses:
        use.owner.operands[use.operand_number] = wide
    return stored


def tile_reduced_rows(module: ir.Module, tiling: Tiling) -> None:
    """Let kernels that reduce rows go over the keys once, and store what they leave of them tile by tile."""
    if not key_tile(tiling):
        return
    for function in functions_of(module):
        for reduction in _row_reductions(function, tiling):
            insertions = [op for op in operations_within(function) if op.name == INSERTION]
            kept = [op.operands[0] for op in insertions if op.operands[0].type.rank == 2]
            tile_and_fuse(reduction, [0, tiling.key], keep_intermediates=kept)


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
