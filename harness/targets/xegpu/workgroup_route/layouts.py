"""The stages `xegpu-wg` and `xegpu-sg`: layouts that say which sub-group, instruction and lane has what.

Sub-groups share rows only.  Each attribute names the sub-groups (`sg_layout`), what each has (`sg_data`),
what one instruction takes of it (`inst_data`), and how its lanes hold that (`lane_layout`, `lane_data`,
`order`).
"""

import re
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from harness.codegen.ir.builder import index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within, producer_of
from harness.system.errors import BuildError
from harness.targets.xegpu.workgroup_route.tiles import COLUMNS, RouteTiles

DESCRIBE, LOAD, STORE, DPAS = "xegpu.create_nd_tdesc", "xegpu.load_nd", "xegpu.store_nd", "xegpu.dpas"
TRANSPOSE = "vector.transpose"
HINT = "#xegpu.cache_hint<cached>"
STALE_FIELDS = re.compile(r"inst_data = \[[\d, ]+\], |, order = \[\d, \d\]")
DESCRIPTOR = re.compile(r"(!xegpu\.tensor_desc<(\d+)x(\d+)x\w+)(, #xegpu\.block_tdesc_attr<.*?>)?>")


@dataclass(frozen=True)
class Layouts:
    """The layouts of one kernel's values."""

    tiles: RouteTiles

    @property
    def rows(self) -> str:
        """Of a chunk with the workgroup's rows: operands A, scores, sums."""
        return self._layout(
            self._below, (self.tiles.sub_group_rows, COLUMNS), (8, COLUMNS), (1, 16), (1, 1), (1, 0)
        )

    @property
    def columns(self) -> str:
        """Of such a chunk before it is transposed."""
        return self._layout(
            self._beside, (COLUMNS, self.tiles.sub_group_rows), (COLUMNS, 8), (16, 1), (1, 1), (0, 1)
        )

    @property
    def of_rows(self) -> str:
        """Of what has one number for each row."""
        return f"#xegpu.slice<{self.rows}, dims = [1]>"

    @property
    def value(self) -> str:
        """Of 16 rows of V, which all sub-groups have: operand B."""
        return self._layout(self._below, (16, 16), (16, 16), (1, 16), (2, 1), (1, 0))

    @property
    def key(self) -> str:
        """Of 16 rows of K as they lie in memory."""
        return self._layout(self._below, (16, 16), (16, 16), (16, 1), (1, 2), (1, 0))

    @property
    def transposed_key(self) -> str:
        """Of 16 rows of K as columns: operand B."""
        return self._layout(self._beside, (16, 16), (16, 16), (1, 16), (2, 1), (0, 1))

    def prefetch(self, columns: int) -> str:
        """Of a tile of keys that is prefetched, in parts."""
        data = (self.tiles.prefetched_rows, columns)
        return self._layout(self._below, data, (8, COLUMNS), (1, 16), (1, 1), (1, 0))

    @property
    def _below(self) -> tuple[int, int]:
        return self.tiles.sub_groups, 1

    @property
    def _beside(self) -> tuple[int, int]:
        return 1, self.tiles.sub_groups

    def _layout(self, *fields: tuple[int, int]) -> str:
        names = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data", "order")
        parts = [f"{name} = [{first}, {second}]" for name, (first, second) in zip(names, fields, strict=True)]
        return f"#xegpu.layout<{', '.join(parts)}>"


def lay_out(kernel: ir.OpView, layouts: Layouts) -> None:
    """Give every descriptor and every vector of a kernel its layout, in place."""
    for operation in operations_within(kernel):
        if operation.name == DESCRIBE:
            _describe(operation, layouts)
    for operation in operations_within(kernel):
        if operation.name in (LOAD, STORE):
            described = operation.operands[0 if operation.name == LOAD else 1]
            _set(operation, "layout", layout_of_descriptor(described.type))
        elif operation.name == DPAS:
            _set(operation, "layout_a", layouts.rows)
            _set(operation, "layout_b", _layout_of(operation.operands[1], layouts))
            _set(operation, "layout_cd", layouts.rows)
        else:
            for number, result in enumerate(operation.results):
                if isinstance(result.type, ir.VectorType):
                    _set(operation, f"layout_result_{number}", _layout_of(result, layouts))


def drop_stale_layouts(kernel: ir.OpView) -> None:
    """Drop layouts of operations, and what descriptors say of instructions and order, in place.

    Blocking keeps `inst_data` and `order` though values now are single instructions'.  The pass that
    propagates layouts of lanes gets only those of descriptors and finds all others anew.
    """
    for operation in operations_within(kernel):
        for name in list(operation.attributes):
            if name == "layout" or name.startswith("layout_"):
                del operation.attributes[name]
        for result in operation.results:
            if str(result.type).startswith("!xegpu.tensor_desc"):
                result.set_type(ir.Type.parse(STALE_FIELDS.sub("", str(result.type))))


def with_layout(descriptor: ir.Type, layout: str) -> ir.Type:
    """Return the type of a descriptor with a layout in place of what it has."""
    match = _parsed(descriptor)
    return ir.Type.parse(f"{match[1]}{match[4] or ''}, {layout}>")


def layout_of_descriptor(descriptor: ir.Type) -> str:
    """Return the layout in a descriptor's type."""
    text = str(descriptor)
    return text[text.index("#xegpu.layout") : -1]


def _parsed(descriptor: ir.Type) -> re.Match[str]:
    match = DESCRIPTOR.match(str(descriptor))
    if match is None:
        raise BuildError(f"{descriptor}: expected the descriptor of a block of a matrix")
    return match


def _describe(operation: ir.OpView, layouts: Layouts) -> None:
    """Give a descriptor the layout of what is loaded by it."""
    described = operation.results[0]
    layout = layouts.rows
    if _parsed(described.type)[2] == str(COLUMNS):
        loaded = [use.owner for use in described.uses]
        is_key = all(use.owner.name == TRANSPOSE for load in loaded for use in load.results[0].uses)
        layout = layouts.key if is_key else layouts.value
    described.set_type(with_layout(described.type, layout))


def _layout_of(value: ir.Value, layouts: Layouts) -> str:
    """Return the layout of a vector by its shape, and of operands B by what they are."""
    shape, rows = list(ir.VectorType(value.type).shape), layouts.tiles.rows
    if shape == [COLUMNS, COLUMNS]:
        producer = producer_of(value)
        is_key = producer is not None and producer.name == TRANSPOSE
        return layouts.transposed_key if is_key else layouts.value
    by_shape = {(rows, COLUMNS): layouts.rows, (COLUMNS, rows): layouts.columns, (rows,): layouts.of_rows}
    if tuple(shape) not in by_shape:
        raise BuildError(f"{value.type}: no layout is known for a vector of this shape")
    return by_shape[tuple(shape)]


def _set(operation: ir.OpView, name: str, layout: str) -> None:
    operation.attributes[name] = ir.Attribute.parse(layout)


def prefetch_next_tiles(loop: ir.OpView, layouts: Layouts) -> None:
    """Let each iteration of a loop over keys prefetch the tiles of K and V of the next one, in place."""
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
    description = producer_of(load.operands[0])
    if description is None:
        raise BuildError("expected a load by a descriptor of the kernel's own")
    return description.operands[0]
