"""Prefetches of the next tile of keys, as parts of the stage `xegpu-wg`."""

from mlir import ir
from mlir.dialects import arith

from harness.errors import BuildError
from harness.ir.builder import index
from harness.ir.for_loop import ForLoop
from harness.ir.walk import operations_within, producer_of
from harness.targets.xegpu.workgroup_route.layouts import DESCRIBE, LOAD, Layouts

HINT = "#xegpu.cache_hint<cached>"


def prefetch_next_tiles(loop: ir.OpView, layouts: Layouts) -> None:
    """Let each iteration of a loop over keys prefetch the tiles of K and V of the next one, in place.

    The last iteration names its own tiles again.
    """
    first: dict[ir.Value, ir.OpView] = {}
    for operation in operations_within(loop):
        if operation.name == LOAD:
            first.setdefault(_buffer(operation), operation)
    for buffer, load in first.items():
        _prefetch(loop, buffer, load, layouts)


def _prefetch(loop: ir.OpView, buffer: ir.Value, load: ir.OpView, layouts: Layouts) -> None:
    columns = ir.MemRefType(buffer.type).shape[1]
    keys, layout = layouts.tiles.keys, layouts.prefetch(columns)
    element = ir.MemRefType(buffer.type).element_type
    kind = ir.Type.parse(f"!xegpu.tensor_desc<{keys}x{columns}x{element}, {layout}>")
    with ir.InsertionPoint(loop), loop.location:
        described = ir.Operation.create(
            DESCRIBE,
            results=[kind],
            operands=[buffer],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0])},
        ).results[0]
    with ir.InsertionPoint(load), load.location:
        left = arith.subi(arith.subi(ForLoop(loop).upper, ForLoop(loop).step), ForLoop(loop).position)
        row = arith.addi(load.operands[1], arith.minui(left, index(keys)))
        ir.Operation.create(
            "xegpu.prefetch_nd",
            operands=[described, row],
            attributes={
                "const_offsets": ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size(), 0]),
                "l1_hint": ir.Attribute.parse(HINT),
                "l2_hint": ir.Attribute.parse(HINT),
                "layout": ir.Attribute.parse(layout),
            },
        )


def _buffer(load: ir.OpView) -> ir.Value:
    """Return the memory that a load reads."""
    description = producer_of(load.operands[0])
    if description is None:
        raise BuildError("expected a load by a descriptor of the kernel's own")
    return description.operands[0]
