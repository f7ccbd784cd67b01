"""The rules for reductions: within the lane first, then between the lanes that share a row."""

import itertools
from collections.abc import Callable, Sequence
from functools import reduce

from mlir import ir
from mlir.dialects import arith, vector

from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.constraints import reduced_axis
from harness.codegen.layouts.distribution.conversions import shuffled_xor
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.lane_value import LaneValue, from_elements
from harness.codegen.layouts.layout import Layout, Level
from harness.codegen.layouts.register_pairs import PAIR
from harness.system.errors import BuildError

PACKED = "packed"
"""Attribute of a reduction whose lanes exchange two rows at once, in f16."""
PARTIAL = "partial"
"""Attribute of a reduction whose lanes keep their parts, see `harness.codegen.layouts.partial_sums`."""

COMBINERS: dict[str, Callable[[ir.Value, ir.Value], ir.Value]] = {
    "add": arith.addf,
    "maximumf": arith.maximumf,
}


def distribute_reduction(distributor: Distributor, operation: ir.OpView) -> None:
    """Every lane of a row ends with the row's result, or with its part of it where that is asked for."""
    source, start = (distributor.held(operation.operands[number]) for number in range(2))
    (result,) = operation.results
    layout = distributor.layout(result)
    axis = reduced_axis(operation)
    combine = _combiner(operation)
    masks = [] if PARTIAL in operation.attributes else lane_masks(source.layout, axis)
    lanes = source.layout.lanes
    part_of = _parts_of_lane(source, axis, combine)
    parts = [part_of(layout.constant_part(0, *place)) for place in _places(layout)]
    rows = _over_lanes(parts, masks, lanes, combine, is_packed=PACKED in operation.attributes)
    elements = [combine(row, start.element(*place)) for row, place in zip(rows, _places(layout), strict=True)]
    distributor.define_fragments(result, _fragments(elements, layout))


def _places(layout: Layout) -> list[tuple[int, int]]:
    """Return the fragment and the register of each element of a lane."""
    return list(itertools.product(range(layout.fragments), range(layout.registers)))


def _fragments(elements: Sequence[ir.Value], layout: Layout) -> list[ir.Value]:
    starts = range(0, len(elements), layout.registers)
    return [from_elements(list(elements[start : start + layout.registers])) for start in starts]


def distribute_lane_sum(distributor: Distributor, operation: ir.OpView) -> None:
    """What lanes hold in parts is added up by a butterfly, so that each of them has the sum."""
    held = distributor.held(operation.operands[0])
    parts = [held.element(*place) for place in _places(held.layout)]
    is_packed = PACKED in operation.attributes
    sums = _over_lanes(parts, _cluster_masks(operation), held.layout.lanes, arith.addf, is_packed=is_packed)
    distributor.define_fragments(operation.results[0], _fragments(sums, held.layout))


def exchange_in_pairs(kernel: ir.OpView) -> None:
    """Mark the reductions of a kernel whose lanes are to exchange numbers of two rows at once, in place."""
    for operation in operations_within(kernel):
        if operation.name in ("vector.multi_reduction", "gpu.subgroup_reduce"):
            operation.operation.attributes[PACKED] = ir.UnitAttr.get()


def _cluster_masks(reduction: ir.OpView) -> list[int]:
    """Return the differences of the lanes' numbers over which a `gpu.subgroup_reduce` adds up."""
    if "add" not in str(reduction.attributes["op"]):
        raise BuildError(f"a reduction of lanes by {reduction.attributes['op']} cannot be distributed")
    size = ir.IntegerAttr(reduction.attributes["cluster_size"]).value
    stride = ir.IntegerAttr(reduction.attributes["cluster_stride"]).value
    return [stride << bit for bit in range(size.bit_length() - 1)]


def _over_lanes(
    values: Sequence[ir.Value],
    masks: Sequence[int],
    lanes: int,
    combine: Callable[[ir.Value, ir.Value], ir.Value],
    *,
    is_packed: bool,
) -> list[ir.Value]:
    """Combine values of rows over the lanes that share them; pairs of rows as one word of f16 if packed."""
    if not (is_packed and masks):
        return [_over_lanes_of_row(value, masks, lanes, combine) for value in values]
    combined_rows: list[ir.Value] = []
    for start in range(0, len(values), PAIR):
        rows = values[start : start + PAIR]
        kind = ir.VectorType.get([PAIR], rows[0].type)
        halves = arith.truncf(
            ir.VectorType.get([PAIR], ir.F16Type.get()), vector.from_elements(kind, [rows[0], rows[-1]])
        )
        for mask in masks:
            halves = combine(halves, _shuffled_pair(halves, mask, lanes))
        wide = arith.extf(kind, halves)
        combined_rows += [vector.extract(wide, [], [number]) for number in range(len(rows))]
    return combined_rows


def _over_lanes_of_row(
    value: ir.Value, masks: Sequence[int], lanes: int, combine: Callable[[ir.Value, ir.Value], ir.Value]
) -> ir.Value:
    for mask in masks:
        value = combine(value, shuffled_xor(value, mask, lanes))
    return value


def _shuffled_pair(halves: ir.Value, mask: int, lanes: int) -> ir.Value:
    word = ir.VectorType.get([1], ir.IntegerType.get_signless(32))
    shuffled = shuffled_xor(vector.extract(vector.bitcast(word, halves), [], [0]), mask, lanes)
    pair: ir.Value = vector.bitcast(halves.type, vector.from_elements(word, [shuffled]))
    return pair


def lane_masks(layout: Layout, axis: int) -> list[int]:
    """Return the differences, in bits, of the lanes that share what is not reduced.

    Raises `BuildError` where warps would have to be combined, or the lanes are no power of two.
    """
    masks = []
    stride = 1
    for dimension in reversed(layout.dimensions(Level.LANE)):
        if dimension in layout.axes[axis]:
            if dimension.size & (dimension.size - 1):
                raise BuildError(f"{dimension.size} lanes cannot be combined by a butterfly")
            masks += [stride << bit for bit in range(dimension.size.bit_length() - 1)]
        stride *= dimension.size
    if any(dim.size > 1 and dim.level is Level.WARP for dim in layout.axes[axis]):
        raise BuildError("a reduction across warps cannot be distributed")
    return masks


def combined(elements: list[ir.Value], combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """Combine elements pairwise, as a tree: it is short, and its rounding errors are small."""
    while len(elements) > 1:
        pairs = [combine(*elements[at : at + 2]) for at in range(0, len(elements) - 1, 2)]
        elements = pairs + elements[len(elements) - len(elements) % 2 :]
    return elements[0]


def _parts_of_lane(
    source: LaneValue, axis: int, combine: Callable[[ir.Value, ir.Value], ir.Value]
) -> Callable[[int], ir.Value]:
    """Return what combines a lane's elements of a row, which is counted from the lane's first row."""
    layout = source.layout
    same_rows: dict[tuple[int, ...], list[ir.Value]] = {}
    for fragment, value in enumerate(source.fragments):
        rows = tuple(
            layout.constant_part(1 - axis, fragment, register) for register in range(layout.registers)
        )
        same_rows.setdefault(rows, []).append(value)
    if layout.registers % PAIR == 0 and all(len(set(rows)) == 1 for rows in same_rows):
        return lambda row: _combined_row(same_rows[(row,) * layout.registers], combine)
    by_rows = [(combined(values, combine), dict(enumerate(rows))) for rows, values in same_rows.items()]
    return lambda row: combined(
        [
            vector.extract(combined_fragment, [], [at])
            for combined_fragment, rows in by_rows
            for at in rows
            if rows[at] == row
        ],
        combine,
    )


def _combined_row(fragments: list[ir.Value], combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """Combine fragments of a single row: registers in pairs, three pairs at a time.

    Instructions take pairs of registers at once, or the maximum of three, where a GPU has them; else nothing
    is lost.
    """
    kind = ir.VectorType.get([PAIR], fragments[0].type.element_type)
    pairs = [
        vector.extract_strided_slice(kind, fragment, [start], [PAIR], [1])
        for fragment in fragments
        for start in range(0, fragment.type.shape[0], PAIR)
    ]
    while len(pairs) > 1:
        pairs = [reduce(combine, pairs[start : start + 3]) for start in range(0, len(pairs), 3)]
    return combine(*(vector.extract(pairs[0], [], [at]) for at in range(PAIR)))


def _combiner(operation: ir.OpView) -> Callable[[ir.Value, ir.Value], ir.Value]:
    kind = str(operation.attributes["kind"]).removeprefix("#vector.kind<").removesuffix(">")
    if kind not in COMBINERS:
        raise BuildError(f"a reduction by {kind} cannot be distributed to lanes")
    return COMBINERS[kind]
