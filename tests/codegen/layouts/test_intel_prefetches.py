"""Prefetches of a tile on Intel's GPUs: which blocks of it each sub-group asks for."""

import re
from itertools import product

import pytest
from mlir import ir
from mlir.dialects import func

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.builder import index
from harness.codegen.layouts.distribution.intel.prefetches import (
    BLOCK_ROWS,
    SharedBlocks,
    places,
    shared_blocks,
)
from harness.targets.lowering.transforms import run_passes

TILES = [
    # rows, columns, bytes of an element, sub-groups; rows and columns of a block, messages of a sub-group
    (64, 64, 2, 8, (16, 32), 1),
    (32, 128, 2, 8, (16, 32), 1),
    (64, 32, 2, 8, (8, 32), 1),
    (64, 64, 2, 1, (32, 32), 4),
    (64, 96, 2, 8, (16, 32), 2),
    (64, 48, 2, 8, (16, 16), 2),
    (64, 64, 4, 8, (32, 16), 1),
    (16, 32, 2, 32, (1, 32), 1),
]


@pytest.mark.parametrize(("rows", "columns", "size", "sub_groups", "block", "rounds"), TILES)
def test_blocks_are_the_largest_of_which_each_sub_group_has_one(
    rows: int, columns: int, size: int, sub_groups: int, block: tuple[int, int], rounds: int
) -> None:
    blocks = shared_blocks(rows, columns, size, sub_groups)
    assert (blocks.rows, blocks.columns) == block
    assert len(blocks.rounds) == rounds
    assert blocks.rows in BLOCK_ROWS
    assert blocks.columns * size == 64 or columns % (64 // size)  # a line of the cache


@pytest.mark.parametrize(("rows", "columns", "size", "sub_groups"), [tile[:4] for tile in TILES])
def test_all_sub_groups_together_ask_for_the_whole_tile_and_for_nothing_beside_it(
    rows: int, columns: int, size: int, sub_groups: int
) -> None:
    blocks = shared_blocks(rows, columns, size, sub_groups)
    asked = [place for sub_group in range(sub_groups) for place in emitted_places(blocks, sub_group)]
    assert set(asked) == set(product(range(0, rows, blocks.rows), range(0, columns, blocks.columns)))
    assert not blocks.is_even or len(asked) == len(set(asked))


def emitted_places(blocks: SharedBlocks, sub_group: int) -> list[tuple[int, int]]:
    """Return what the code that computes a sub-group's places gives for its number."""
    with mlir_context(), ir.Location.unknown():
        module = ir.Module.create()
        count = 2 * len(blocks.rounds)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("places", ([], [ir.IndexType.get()] * count))
        with ir.InsertionPoint(function.add_entry_block()):
            numbers = [number for place in places(blocks, index(sub_group)) for number in place]
            func.ReturnOp(numbers)
        run_passes(module, "canonicalize")
        constants = dict(re.findall(r"(%\w+) = arith.constant (\d+)", str(module)))
        (returned,) = re.findall(r"return (.*?) :", str(module))
        values = [int(constants[name]) for name in returned.split(", ")]
    return list(zip(values[::2], values[1::2], strict=True))
