"""Tiles of keys and values are read where a page table says.

A tile lies within one page: it begins as far behind the beginning of its page in the pool as it begins behind
that of its page in the table.  Where rows do not see a tile whole it may hold the end of a sequence.  What
the page holds beyond can be anything, NaN too, and 0 · NaN is NaN: such values become 0.
"""

from mlir import ir
from mlir.dialects import arith, func, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.ir.slices import mixed_values
from harness.codegen.ir.walk import operations_within
from harness.codegen.payloads.arguments import arguments_by_buffer
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import as_value

SLICE = "tensor.extract_slice"


def read_tiles_through_table(function: func.FuncOp, page_size: int) -> None:
    """Move each slice of K and V to where its page lies in the pool, in place.

    Raises `RewriteRefusedError` where a slice is of more than a page.
    """
    arguments = arguments_by_buffer(function)
    for product in [op for op in operations_within(function) if op.name == attn.BatchMatmul.NAME]:
        if _weighs_values(product) and _has_masked_rows(product):
            _hide_rest_of_page(product, arguments["value"], arguments["page_lengths"], page_size)
    pools = [arguments["key"], arguments["value"]]
    for operation in [op for op in operations_within(function) if op.name == SLICE]:
        if operation.operands[0] in pools:
            _move(operation, arguments["page_table"], page_size)


def _move(operation: ir.OpView, table: ir.Value, page_size: int) -> None:
    offset, *others = mixed_values(operation, "offsets")
    sizes = mixed_values(operation, "sizes")
    if not isinstance(sizes[0], int) or page_size % sizes[0]:
        raise RewriteRefusedError(operation, f"{sizes[0]} keys do not divide pages of {page_size}")
    with ir.InsertionPoint(operation), operation.location:
        start = as_value(offset)
        page = _entry(table, _page_of(start, page_size))
        moved = b.affine_value(
            lambda at, first: first * page_size + ir.AffineExpr.get_mod(at, page_size), start, page
        )
        result = b.slice_as(operation.results[0].type, operation.operands[0], [moved, *others], sizes)
    operation.results[0].replace_all_uses_with(result)
    operation.operation.erase()


def _hide_rest_of_page(product: ir.OpView, pool: ir.Value, lengths: ir.Value, page_size: int) -> None:
    block = product.operation.block
    (tile,) = [op for op in block.operations if op.name == SLICE and op.operands[0] == pool]
    values = attn.BatchMatmul(product).rhs
    with ir.InsertionPoint(product), product.location:
        start = as_value(mixed_values(tile, "offsets")[0])
        page = _page_of(start, page_size)
        end = b.affine_value(lambda number, held: number * page_size + held, page, _entry(lengths, page))
        key, held_end = ir.AffineDimExpr.get(0), ir.AffineSymbolExpr.get(0)
        visible = ir.AffineMap.get(2, 1, [held_end - key + (-1)])
        held = attn.mask(values, visible, [start, b.index(0)], [end], fill=0.0).masked
    product.operands[1] = held


def _weighs_values(product: ir.OpView) -> bool:
    factor = attn.BatchMatmul(product).lhs
    return isinstance(factor, ir.OpResult) and factor.owner.name in attn.SOFTMAX_NAMES


def _has_masked_rows(product: ir.OpView) -> bool:
    return any(op.name == attn.RowMask.NAME for op in product.operation.block.operations)


def _page_of(position: ir.Value, page_size: int) -> ir.Value:
    return b.affine_value(lambda at: ir.AffineExpr.get_floor_div(at, page_size), position)


def _entry(array: ir.Value, position: ir.Value) -> ir.Value:
    return arith.index_cast(ir.IndexType.get(), tensor.extract(array, [position]))
