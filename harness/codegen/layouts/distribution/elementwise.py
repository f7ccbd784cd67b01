"""Rules for values that every lane computes for itself."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, vector

from harness.codegen.layouts.analysis import LAYOUT
from harness.codegen.layouts.constraints import is_vector
from harness.codegen.layouts.conversion import convert
from harness.codegen.layouts.distribution.conversions import converted
from harness.codegen.layouts.distribution.distributor import Distributor, copy_scalar_operation
from harness.codegen.layouts.distribution.lane_value import LaneValue, fragment_type
from harness.codegen.layouts.layout import Layout
from harness.system.errors import BuildError


def distribute_elementwise(distributor: Distributor, operation: ir.OpView) -> None:
    """An elementwise operation is done on each fragment."""
    (result,) = operation.results
    layout = distributor.layout(result)
    operands = [
        distributor.held(operand).fragments
        if is_vector(operand)
        else (distributor.scalar(operand),) * layout.fragments
        for operand in operation.operands
    ]
    kind = fragment_type(layout, result.type.element_type)
    attributes = {name: operation.attributes[name] for name in operation.attributes if name != LAYOUT}
    result_of: dict[tuple[ir.Value, ...], ir.Value] = {}
    fragments = []
    for inputs in zip(*operands, strict=True):
        if inputs not in result_of:
            created = ir.Operation.create(
                operation.name, results=[kind], operands=list(inputs), attributes=attributes
            )
            result_of[inputs] = created.results[0]
        fragments.append(result_of[inputs])
    distributor.define_fragments(result, fragments)


def distribute_constant(distributor: Distributor, operation: ir.OpView) -> None:
    """A constant is the same everywhere, counts up along its one axis, or is a mask along it."""
    (result,) = operation.results
    if not is_vector(result):
        copy_scalar_operation(distributor, operation)
        return
    values = ir.DenseElementsAttr(operation.attributes["value"])
    layout = distributor.layout(result)
    kind = fragment_type(layout, result.type.element_type)
    if values.is_splat:
        splat = arith.constant(kind, ir.DenseElementsAttr.get_splat(kind, values.get_splat_value()))
        distributor.define_fragments(result, [splat] * layout.fragments)
        return
    if len(layout.axes) != 1 or not isinstance(kind.element_type, ir.IntegerType | ir.IndexType):
        raise BuildError("a constant of different values cannot be distributed to lanes")
    numbers = [int(value) for value in ir.DenseIntElementsAttr(values)]
    if isinstance(kind.element_type, ir.IntegerType) and kind.element_type.width == 1:
        distributor.define_fragments(result, _within(distributor, layout, numbers))
    else:
        distributor.define_fragments(result, _counted(distributor, layout, kind, numbers))


def _counted(
    distributor: Distributor, layout: Layout, kind: ir.VectorType, numbers: Sequence[int]
) -> list[ir.Value]:
    """Return numbers that count up along the axis: each lane's coordinates, moved."""
    if list(numbers) != list(range(numbers[0], numbers[0] + len(numbers))):
        raise BuildError("a constant of numbers that do not count up cannot be distributed to lanes")
    base = distributor.coordinates.base(layout, 0)
    if not isinstance(kind.element_type, ir.IndexType):
        base = arith.index_cast(kind.element_type, base)
    start = vector.broadcast(kind, base)
    return [
        arith.addi(start, _offsets(layout, kind, fragment, numbers[0]))
        for fragment in range(layout.fragments)
    ]


def _within(distributor: Distributor, layout: Layout, truths: Sequence[int]) -> list[ir.Value]:
    """Return truth values that hold along one stretch of the axis: each lane compares its coordinates."""
    first = next(position for position, truth in enumerate(truths) if truth)
    length = sum(bool(truth) for truth in truths)
    if not all(truths[first : first + length]):
        raise BuildError("a mask that holds in several places cannot be distributed to lanes")
    kind = fragment_type(layout, ir.IntegerType.get_signless(32))
    end = arith.constant(
        kind, ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, length))
    )
    moved = _counted(distributor, layout, kind, range(-first, len(truths) - first))
    # Coordinates before the stretch are negative, and large where they are taken for unsigned.
    return [arith.cmpi(arith.CmpIPredicate.ult, coordinate, end) for coordinate in moved]


def _offsets(layout: Layout, kind: ir.VectorType, fragment: int, start: int) -> ir.Value:
    offsets = [start + layout.constant_part(0, fragment, register) for register in range(layout.registers)]
    attributes = [ir.IntegerAttr.get(kind.element_type, offset) for offset in offsets]
    return arith.constant(kind, ir.DenseElementsAttr.get(attributes, kind))


def distribute_broadcast(distributor: Distributor, operation: ir.OpView) -> None:
    """A broadcast value is copied into the registers along the new axis."""
    (source,), (result,) = operation.operands, operation.results
    layout = distributor.layout(result)
    if not is_vector(source):
        kind = fragment_type(layout, result.type.element_type)
        same = vector.broadcast(kind, distributor.scalar(source))
        distributor.define_fragments(result, [same] * layout.fragments)
        return
    held = distributor.held(operation.operands[0])
    kept = tuple(range(result.type.rank - source.type.rank, result.type.rank))
    distributor.define(
        result, converted(held, layout, convert(held.layout, layout, kept), distributor.coordinates.lane)
    )


def distribute_transpose(distributor: Distributor, operation: ir.OpView) -> None:
    """A transposed value stays where it is."""
    (result,) = operation.results
    held = distributor.held(operation.operands[0])
    distributor.define(result, LaneValue(distributor.layout(result), held.fragments))


def distribute_conversion(distributor: Distributor, operation: ir.OpView) -> None:
    """A conflict between layouts is resolved as the analysis has found."""
    (result,) = operation.results
    held = distributor.held(operation.operands[0])
    conversion = distributor.analysis.conversions[result]
    distributor.define(
        result, converted(held, distributor.layout(result), conversion, distributor.coordinates.lane)
    )
