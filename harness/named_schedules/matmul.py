"""Tiling on tensors in its simplest form: one matrix product in three loops."""

from typing import TYPE_CHECKING

from harness.named_schedules.named import NamedSchedule
from harness.named_schedules.steps import linalg
from harness.variants.schedule import Step

if TYPE_CHECKING:
    from mlir import ir

TILES = (2, 3, 4)


def matmul() -> NamedSchedule:
    """Return the product of 16×1024 and 1024×33 in tiles of 2, 3 and 4."""
    return NamedSchedule(
        name="matmul",
        summary="three loops, a slice of each operand, one product on tiles, one insertion",
        source=f"forum post Transformations on Linalg on Tensors, tile {list(TILES)}",
        payload=_payload,
        sizes={"rows": 16, "depth": 1024, "columns": 33},
        steps=(Step("tiled", f"tile {list(TILES)}", _tile), linalg()),
    )


def _payload(*, rows: int, depth: int, columns: int) -> "ir.Module":
    """Return `@matmul(A, B, C) -> A · B + C`, to be computed into C."""
    from mlir import ir
    from mlir.dialects import func
    from mlir.dialects import linalg as mlir_linalg

    from harness.ir import builder as b

    module = ir.Module.create()
    types = [b.tensor_type(shape, "f32") for shape in ((rows, depth), (depth, columns), (rows, columns))]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("matmul", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            left, right, accumulator = function.arguments
            func.ReturnOp([mlir_linalg.matmul(left, right, outs=[accumulator])])
    return module


def _tile(module: "ir.Module") -> None:
    from mlir import ir

    from harness.ir.walk import functions_of
    from harness.rewrites.tile_and_fuse import tile_and_fuse
    from harness.variants.attention_schedule import returned

    tile_and_fuse(ir.OpResult(returned(functions_of(module)[0])[0]).owner.opview, TILES)
