"""XeGPU's operations on blocks of a matrix, as one lane has them."""

from dataclasses import dataclass

from mlir import ir

READ_HINT = "#xegpu.cache_hint<cached>"
WRITE_HINT = "#xegpu.cache_hint<write_back>"


@dataclass(frozen=True)
class Block:
    """What one message accesses: a block of rows and columns, or several of them side by side."""

    rows: int
    columns: int
    element: ir.Type
    count: int = 1

    @property
    def descriptor_type(self) -> ir.Type:
        """The type of a descriptor of such blocks."""
        side_by_side = (
            f", #xegpu.block_tdesc_attr<array_length = {self.count} : i64>" if self.count > 1 else ""
        )
        return ir.Type.parse(f"!xegpu.tensor_desc<{self.rows}x{self.columns}x{self.element}{side_by_side}>")


def descriptor(base: ir.Value, rows: ir.Value, columns: int, pitch: int, block: Block) -> ir.Value:
    """Return a descriptor of blocks in a matrix, whose address and rows are known when a kernel runs.

    The pitch is the number of elements from one row to the next.
    """
    created = ir.Operation.create(
        "xegpu.create_nd_tdesc",
        results=[block.descriptor_type],
        operands=[base, rows],
        attributes={
            "const_shape": ir.DenseI64ArrayAttr.get([_when_it_runs(), columns]),
            "const_strides": ir.DenseI64ArrayAttr.get([pitch, 1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 1, 0]),
        },
    )
    result: ir.Value = created.results[0]
    return result


def load(
    described: ir.Value,
    row: ir.Value,
    column: ir.Value,
    kind: ir.VectorType,
    *,
    is_packed: bool = False,
    is_transposed: bool = False,
) -> ir.Value:
    """Return what a lane gets of a block."""
    attributes = _access(READ_HINT)
    if is_packed:
        attributes["packed"] = ir.UnitAttr.get()
    if is_transposed:
        attributes["transpose"] = ir.DenseI64ArrayAttr.get([1, 0])
    created = ir.Operation.create(
        "xegpu.load_nd", results=[kind], operands=[described, row, column], attributes=attributes
    )
    result: ir.Value = created.results[0]
    return result


def store(value: ir.Value, described: ir.Value, row: ir.Value, column: ir.Value) -> None:
    """Store what a lane has of a block."""
    ir.Operation.create(
        "xegpu.store_nd", operands=[value, described, row, column], attributes=_access(WRITE_HINT)
    )


def prefetch(described: ir.Value, row: ir.Value, column: ir.Value) -> None:
    """Ask for a block, so that it is in the caches when it is loaded."""
    ir.Operation.create("xegpu.prefetch_nd", operands=[described, row, column], attributes=_access(READ_HINT))


def _access(hint: str) -> dict[str, ir.Attribute]:
    cache_hint = ir.Attribute.parse(hint)
    offsets = ir.DenseI64ArrayAttr.get([_when_it_runs()] * 2)
    return {"const_offsets": offsets, "l1_hint": cache_hint, "l3_hint": cache_hint}


def _when_it_runs() -> int:
    unknown: int = ir.ShapedType.get_dynamic_size()
    return unknown
