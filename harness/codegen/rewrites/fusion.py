"""Greedy producer fusion: build the tile of a value from tiles of what it is computed from.

Demand-driven: asked for a tile, the builder finds the operation that produces the value, asks for the tiles
of its operands and builds the operation on them, down to function arguments and operations that must stay
outside.  Tiles are remembered, so that a value needed twice (a diamond) is computed once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mlir import ir
from mlir.dialects import tensor

from harness.codegen.ir.walk import producer_of
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import Ranges, extract, is_whole, kept_sizes
from harness.codegen.rewrites.reshapes import source_tile
from harness.codegen.rewrites.structured import StructuredView, view_of

OperandRewrite = Callable[[StructuredView, Ranges, list[ir.Value]], list[ir.Value]]
"""Changes the operand tiles of an operation before it is built."""


@dataclass(frozen=True)
class FusionRules:
    """What may be fused."""

    stop: frozenset[ir.Operation] = frozenset()
    """Operations that stay outside; tiles of their results are slices."""
    recompute: bool = False
    """Fuse also what is needed whole and could be computed once outside the loops."""
    rewrite_operands: Mapping[ir.Operation, OperandRewrite] = field(default_factory=dict)


class TileBuilder:
    """Builds tiles at the current insertion point; one builder per region, as tiles are remembered."""

    def __init__(self, rules: FusionRules, destinations: Mapping[ir.Value, ir.Value]) -> None:
        self.rules = rules
        self.destinations = destinations
        """Tensors that loops around this region carry, by the value that they start as."""
        self._tiles: dict[tuple[object, ...], ir.Value] = {}
        self._operations: dict[tuple[object, ...], list[ir.Value]] = {}

    def provide(self, value: ir.Value, ranges: Ranges, tile: ir.Value) -> None:
        """Tell the builder a tile, so that it is used rather than built."""
        self._tiles[self._key(value, ranges)] = tile

    def tile(self, value: ir.Value, ranges: Ranges) -> ir.Value:
        """Return the tile of a tensor; scalars are returned as they are."""
        if not isinstance(value.type, ir.RankedTensorType):
            return value
        key = self._key(value, ranges)
        if key not in self._tiles:
            self._tiles[key] = self._build(value, ranges)
        return self._tiles[key]

    def operation(
        self, view: StructuredView, loops: Ranges, given_tiles: Mapping[int, ir.Value] = MappingProxyType({})
    ) -> list[ir.Value]:
        """Return the results of a structured operation on a part of its loops; some operands may be given."""
        key = (view.operation.operation, *(part.key() for part in loops))
        if key not in self._operations:
            tiles = [
                given_tiles[number]
                if number in given_tiles
                else self.tile(operand, view.operand_ranges(number, loops))
                for number, operand in enumerate(view.operation.operands)
            ]
            rewrite = self.rules.rewrite_operands.get(view.operation.operation)
            if rewrite is not None:
                tiles = rewrite(view, loops, tiles)
            self._operations[key] = view.build(tiles, loops)
        return self._operations[key]

    def _build(self, value: ir.Value, ranges: Ranges) -> ir.Value:
        producer = producer_of(value)
        if producer is None or value in self.destinations:
            return extract(self.destinations.get(value, value), ranges)
        if producer.name == "tensor.empty":
            return tensor.empty(kept_sizes(ranges), value.type.element_type)
        is_needed_whole = is_whole(ranges) and not self.rules.recompute
        if is_needed_whole and producer.name != "linalg.fill":
            return value
        if producer.operation in self.rules.stop:
            return extract(value, ranges)
        view = view_of(producer)
        if view is not None:
            result = ir.OpResult(value).result_number
            loops = view.ranges(dict(zip(view.result_loops[result], ranges, strict=True)))
            _refuse_partial_softmax(view, result, ranges)
            return self.operation(view, loops)[result]
        moved = source_tile(producer, ranges)
        if moved is None:
            return extract(value, ranges)
        return moved.finish(self.tile(moved.source, moved.ranges))

    def _key(self, value: ir.Value, ranges: Ranges) -> tuple[object, ...]:
        return (value, *(part.key() for part in ranges))


def _refuse_partial_softmax(view: StructuredView, result: int, ranges: Ranges) -> None:
    """Refuse a part of the probabilities along the reduced dimension: it needs all of the dimension, which is
    not producer fusion."""
    if "softmax" not in view.operation.name or result != 0:
        return
    for loop, part in zip(view.result_loops[0], ranges, strict=True):
        if view.is_reduction[loop] and not part.is_whole:
            raise RewriteRefusedError(
                view.operation,
                "a tile of its probabilities along the reduced dimension needs the whole dimension; tile a "
                "matrix product that reduces over it, decompose the softmax first, or name it as a stop",
            )
