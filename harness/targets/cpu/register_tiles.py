"""The `register-tiled` stage: cut every structured operation to what fits in vector registers.

A contraction keeps a block of accumulators, `rows` × all lanes of the query tile, in registers while it walks
its reduction loop; elementwise operations and reductions go through a few rows at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import scf, transform
from mlir.dialects.transform import structured

from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import operations_within
from harness.targets.cpu.chip import RegisterTile
from harness.targets.lowering.transforms import run_sequence

TILE_KIND = "harness.register_tile"
IN_ORDER = "harness.in_order"
"""Marks what reads rows of memory: one after the other, as processors read ahead."""
INNER_LOOP = "harness.inner_loop"
"""Marks the `scf.forall` around the rows of a contraction, which becomes a plain loop later."""


@dataclass(frozen=True)
class _Request:
    """How one operation is to be tiled."""

    kind: str
    sizes: tuple[int, ...]


def tile_for_registers(module: ir.Module, registers: RegisterTile) -> None:
    """Tile all structured operations of the module, in place."""
    insertions = [op for op in operations_within(module.operation) if op.name == "tensor.insert_slice"]
    for insertion in insertions:
        _insert_in_parts(insertion, registers.vector_length)
    requests: dict[str, _Request] = {}
    for operation in operations_within(module.operation):
        request = _request(operation, registers)
        if request is not None:
            label = f"{request.kind}-{len(requests)}"
            requests[label] = request
            operation.attributes[TILE_KIND] = ir.StringAttr.get(label)
            if request.kind == "zeroed-contraction":
                fill = list(operation.operands)[-1].owner
                fill.attributes[TILE_KIND] = ir.StringAttr.get(f"fill-of-{label}")

    def build(root: ir.Value) -> None:
        for label, request in requests.items():
            _tile(root, label, request)

    run_sequence(module, build)


def matched(root: ir.Value, label: str) -> ir.Value:
    """Return a handle to the operations that carry a tile label."""
    return structured.MatchOp(
        transform.any_op_t(), root, op_attrs={TILE_KIND: ir.StringAttr.get(label)}
    ).results_


def _insert_in_parts(insertion: ir.OpView, rows: int) -> None:
    """Let a loop insert so many rows at a time: a tile of few queries has a row for each element of a query.

    Vectorised whole, as padding inserts it, each of its elements would be an instruction.
    """
    source, target = list(insertion.operands)[:2]
    shape = list(source.type.shape)
    starts_at_zero = not any(ir.DenseI64ArrayAttr(insertion.attributes["static_offsets"]))
    if not starts_at_zero or len(shape) != 2 or target.type.rank != 2 or shape[0] <= rows:
        return
    step = divisor(shape[0], rows)
    with ir.InsertionPoint(insertion), insertion.location:
        loop = scf.ForOp(b.index(0), b.index(shape[0]), b.index(step), [target])
        (filled,) = loop.inner_iter_args
        with ir.InsertionPoint(loop.body):
            part = b.slice_of(source, [loop.induction_variable, 0], [step, shape[1]])
            scf.YieldOp([b.insert(part, filled, [loop.induction_variable, 0], [step, shape[1]])])
    insertion.results[0].replace_all_uses_with(loop.results[0])
    insertion.operation.erase()


def _request(operation: ir.OpView, registers: RegisterTile) -> _Request | None:
    if operation.name == "linalg.fill":
        shape = operation.results[0].type.shape
        if len(shape) < 2 or _is_only_init_of_contraction(operation):
            return None
        return _Request("elementwise", elementwise_tile(shape, registers))
    if operation.name != "linalg.generic":
        return None
    sizes = _loop_sizes(operation)
    if IN_ORDER in operation.attributes:
        return _Request("elementwise", (1, 0))
    reductions = [loop for loop, kind in enumerate(_iterators(operation)) if kind == "reduction"]
    if len(reductions) == 1 and len(sizes) == 3:
        rows = divisor(sizes[0], registers.contraction_rows)
        lanes = _part(sizes[1], registers.contraction_lanes(sizes[1], rows))
        starts_at_zero = _is_fill(list(operation.operands)[-1])
        return _Request("zeroed-contraction" if starts_at_zero else "contraction", (rows, lanes, 1))
    if len(reductions) == 1 and len(sizes) == 2:
        reduction = reductions[0]
        rows = divisor(sizes[reduction], registers.elementwise_rows(sizes[1 - reduction]))
        return _Request("elementwise", (rows, 0) if reduction == 0 else (0, rows))
    if len(sizes) == 2 and _transposes(operation):
        side = min(registers.vector_length, 16)
        return _Request("elementwise", (divisor(sizes[0], side), divisor(sizes[1], side)))
    if len(sizes) == 2:
        return _Request("elementwise", (1, 0) if _converts(operation) else elementwise_tile(sizes, registers))
    return None


def elementwise_tile(sizes: Sequence[int], registers: RegisterTile) -> tuple[int, int]:
    """Return how many rows and columns an operation takes at a time; 0 for all columns."""
    rows, lanes = sizes
    part = registers.elementwise_lanes(lanes)
    return divisor(rows, registers.elementwise_rows(part)), _part(lanes, part)


def _part(whole: int, part: int) -> int:
    """Return a tile size, 0 where it is the whole dimension."""
    return 0 if part == whole else part


def _tile(root: ir.Value, label: str, request: _Request) -> None:
    target = matched(root, label)
    if request.kind == "zeroed-contraction":
        rows, lanes, depth = request.sizes
        fill = matched(root, f"fill-of-{label}")
        for sizes in ([0, lanes, 0], [rows, 0, 0]):
            if any(sizes):
                target, fill = _with_fill(target, fill, sizes)
        structured.TileUsingForOp(target, sizes=[0, 0, depth])
    else:
        structured.TileUsingForOp(target, sizes=list(request.sizes))


def _with_fill(target: ir.Value, fill: ir.Value, sizes: list[int]) -> tuple[ir.Value, ir.Value]:
    """Tile a contraction with what fills its accumulators; returns handles to both inside the loop."""
    tiled = structured.TileUsingForallOp(target, tile_sizes=sizes)
    fused = structured.FuseIntoContainingOp(fill, tiled.forall_op)
    transform.AnnotateOp(fused.new_containing_op, INNER_LOOP)
    return tiled.tiled_op, fused.fused_op


def divisor(size: int, limit: int) -> int:
    """Return the largest part, up to a limit, that divides a size."""
    return max(candidate for candidate in range(1, limit + 1) if size % candidate == 0)


def _iterators(operation: ir.OpView) -> list[str]:
    return [
        "reduction" if "reduction" in str(kind) else "parallel"
        for kind in operation.attributes["iterator_types"]
    ]


def _loop_sizes(operation: ir.OpView) -> list[int]:
    sizes = [0] * len(_iterators(operation))
    maps = [ir.AffineMapAttr(mapping).value for mapping in operation.attributes["indexing_maps"]]
    for value, mapping in zip(operation.operands, maps, strict=True):
        for size, expression in zip(value.type.shape, mapping.results, strict=True):
            sizes[ir.AffineDimExpr(expression).position] = size
    return sizes


def _transposes(operation: ir.OpView) -> bool:
    maps = [ir.AffineMapAttr(mapping).value for mapping in operation.attributes["indexing_maps"]]
    orders = [[ir.AffineDimExpr(expression).position for expression in mapping.results] for mapping in maps]
    return any(order == [1, 0] for order in orders)


def _converts(operation: ir.OpView) -> bool:
    """Whether the element type changes; row by row, because 2-D vector conversions are not unrolled."""
    return len({str(value.type.element_type) for value in operation.operands}) > 1


def _is_fill(value: ir.Value) -> bool:
    return isinstance(value.owner, ir.Operation | ir.OpView) and value.owner.name == "linalg.fill"


def _is_only_init_of_contraction(fill: ir.OpView) -> bool:
    users = [use.owner for use in fill.results[0].uses]
    return len(users) == 1 and users[0].name == "linalg.generic" and "reduction" in _iterators(users[0])
