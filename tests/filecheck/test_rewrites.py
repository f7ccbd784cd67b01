"""Every file `rewrites/*.mlir`: the rewrite that its first line names, applied to its IR, meets its CHECK
lines.

The first line is `// REWRITE: name option=value flag …`; see `REWRITES` for the options.  Values are numbers,
words, or several of them with commas between.  What a rewrite works on is marked in the IR by an attribute,
`{root}`, `{stop}` or `{keep}`, which is gone before the rewrite is applied.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from codegen.payloads.ir_files import check_file, files_in, first_line
from mlir import ir

from harness.codegen.dialect.decomposition import decompose
from harness.codegen.ir.walk import operations_within
from harness.codegen.payloads.packed_attention import sequence_bounds
from harness.codegen.rewrites.fission import HandedOn, Kernel, split_grid
from harness.codegen.rewrites.loop_distribution import IterationTile, distribute_loop
from harness.codegen.rewrites.normalization import absorb_scale, defer_division
from harness.codegen.rewrites.packed_sequences import PackedSequences, key_tile_bounds
from harness.codegen.rewrites.ranges import as_value
from harness.codegen.rewrites.simplifications import (
    decompose_all_pads,
    erase_unused,
    fold_diagonal_products,
    merge_index_arithmetic,
    merge_masks,
    write_into_place,
)
from harness.codegen.rewrites.split_reduction import split_reduction
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.codegen.rewrites.visible_tiles import TileBounds, split_at_masks

FILES = files_in(Path(__file__).parent / "rewrites")


def numbers(text: str) -> list[int]:
    """Return the numbers of an option's value."""
    return [int(number) for number in text.split(",") if number]


def marked(module: ir.Module, mark: str) -> list[ir.OpView]:
    """Return the operations with a mark and take the mark away."""
    found = [operation for operation in operations_within(module.operation) if mark in operation.attributes]
    for operation in found:
        del operation.attributes[mark]
    return found


def root_of(module: ir.Module) -> ir.OpView:
    (root,) = marked(module, "root")
    return root


def tile(
    module: ir.Module,
    sizes: str,
    interchange: str = "",
    grid: str = "0",
    drop: str = "",
    peels_rest: bool = False,
    recompute: bool = False,
    init_inside: bool = False,
) -> None:
    stop = marked(module, "stop")
    keep = [operation.results[0] for operation in marked(module, "keep")]
    options = TileOptions(
        grid=int(grid),
        drop=frozenset(numbers(drop)),
        peels_rest=peels_rest,
        recompute=recompute,
        init_outside=not init_inside,
    )
    tile_and_fuse(
        root_of(module),
        numbers(sizes),
        numbers(interchange) or None,
        stop=stop,
        keep_intermediates=keep,
        options=options,
    )


def split_loop(module: ir.Module, row_bounds: str = "") -> None:
    """Split the marked loop; `row_bounds` is what masks of rows leave."""
    split_at_masks(root_of(module), TileBounds(*numbers(row_bounds)) if row_bounds else None)


def split_in_kernels(module: ir.Module, kernels: str) -> None:
    """Split the function; tiles that a kernel leaves are marked with its name, further ones after a plus with
    that of their workspace."""
    *names, last = kernels.split(",")
    made = [Kernel(name.partition("+")[0], _left(module, name.split("+"))) for name in names]
    split_grid(module.body.operations[0], [*made, Kernel(last)])


def _left(module: ir.Module, marks: list[str]) -> tuple[HandedOn, ...]:
    tiles = [marked(module, mark)[0].results[0] for mark in marks]
    workspaces = ["scores", *marks[1:]]
    return tuple(
        HandedOn(tile, workspace, ("query", "key")[: tile.type.rank])
        for tile, workspace in zip(tiles, workspaces, strict=True)
    )


def distribute(module: ir.Module, names: str, kept: str) -> None:
    """Give the iterations of the marked loop points of a grid; they leave a part of the marked tile."""
    (tile,) = marked(module, "tile")
    first, second = names.split(",")
    handed_on = IterationTile(tile.results[0], "square", ("query", "width"), tuple(numbers(kept)))
    distribute_loop(root_of(module), (first, second), [handed_on])


def return_key_tile_bounds(
    module: ir.Module,
    batch: str,
    keys: str,
    rows: str,
    step: str,
    causal: bool = False,
    top_left: bool = False,
) -> None:
    """Let a function of both cumulative lengths and the first row return the bounds."""
    function = module.body.operations[0]
    query_starts, key_starts, first_row = function.arguments
    bounds_of_sequences = sequence_bounds({"cu_seqlens_q": query_starts, "cu_seqlens_kv": key_starts})
    sequences = PackedSequences(bounds_of_sequences, int(batch), int(keys), causal, top_left)
    operations = function.entry_block.operations
    end = operations[len(operations) - 1]
    with ir.InsertionPoint(end):
        bounds = key_tile_bounds(sequences, first_row, int(rows), int(step))
        values = [bounds.first, bounds.whole_first, bounds.whole_end, bounds.end]
        for position, value in enumerate(values):
            end.operands[position] = as_value(value)


REWRITES: dict[str, Callable[..., object]] = {
    "tile-and-fuse": tile,
    "defer-division": lambda module: defer_division(root_of(module)),
    "absorb-scale": lambda module: absorb_scale(root_of(module)),
    "fold-diagonal-products": fold_diagonal_products,
    "write-into-place": write_into_place,
    "decompose-pads": decompose_all_pads,
    "erase-unused": erase_unused,
    "merge-index-arithmetic": merge_index_arithmetic,
    "merge-masks": merge_masks,
    "split-at-masks": split_loop,
    "split-grid": split_in_kernels,
    "split-reduction": lambda module, parts: split_reduction(root_of(module), int(parts)),
    "distribute-loop": distribute,
    "key-tile-bounds": return_key_tile_bounds,
    "decompose": lambda module: decompose(root_of(module)),
}


def rewrite_of(path: Path) -> Callable[[ir.Module], object]:
    """Return what the first line of a file asks for."""
    name, *words = first_line(path, "REWRITE")
    options = {}
    for word in words:
        option, _, value = word.partition("=")
        options[option.replace("-", "_")] = value or True
    return lambda module: REWRITES[name](module, **options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rewrite_meets_the_checks_of_the_file(path):
    check_file(path, rewrite_of(path))


def test_every_rewrite_has_a_file():
    assert {first_line(path, "REWRITE")[0] for path in FILES} == set(REWRITES)
