"""The `lanes` stage: give tiles the layout in which queries lie in vector lanes.

With queries in the lanes K and V are read in place as scalar broadcasts, row maxima and sums are plain vector
operations, and only the Q and O tiles are transposed, once each.  The stage finds every tile dimension that
runs over queries, starting from the dimension names of the kernels' arguments, and stores those tensors with
that dimension last.  Loops, indexing maps and slices follow; slices of arguments keep their layout in memory.
"""

from collections.abc import Iterator, Sequence

from mlir import ir
from mlir.dialects import func

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.slices import kept_dimensions
from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.payloads.arguments import DIMENSIONS, FREE_LAYOUT
from harness.codegen.rewrites.errors import RewriteRefusedError

LANE_DIMENSION = "query"

Dimension = tuple[ir.Value, int]


def queries_in_lanes(module: ir.Module) -> None:
    """Rewrite every kernel of the module, in place.

    Raises `RewriteRefusedError` where a tile with queries in lanes is a part of memory whose layout is given.
    """
    for function in functions_of(module):
        if not has_one_query(function):
            LaneLayout(function).apply()
    module.operation.verify()


def has_one_query(function: func.FuncOp) -> bool:
    """Whether a kernel is of one query for each head, so that no others are there for lanes."""
    queries = [argument.type.shape[axis] for argument, axis in _query_dimensions(function)]
    return bool(queries) and set(queries) == {1}


def _query_dimensions(function: func.FuncOp) -> Iterator[Dimension]:
    """Yield the argument dimensions that run over queries."""
    for argument, attributes in zip(function.arguments, function.arg_attrs, strict=True):
        names = [ir.StringAttr(name).value for name in ir.DictAttr(attributes)[DIMENSIONS]]
        if LANE_DIMENSION in names:
            yield argument, names.index(LANE_DIMENSION)


class LaneLayout:
    """The layout assignment of one kernel."""

    def __init__(self, function: func.FuncOp) -> None:
        self.function = function
        self.operations = list(operations_within(function))
        self.parents: dict[Dimension, Dimension] = {}
        self.in_memory = self._values_in_memory()
        for operation in self.operations:
            self._join(operation)
        self.lanes = {self._root(seed) for seed in _query_dimensions(self.function)}

    def lane_axis(self, value: ir.Value) -> int | None:
        """Return the axis of a tensor that runs over queries, or None."""
        axes = (axis for axis in range(_rank(value)) if self._root((value, axis)) in self.lanes)
        return next(axes, None)

    def apply(self) -> None:
        """Store every tile that has queries and is not in memory with the queries last."""
        orders: dict[ir.Value, list[int]] = {}
        for value in self._tile_values():
            axis = self.lane_axis(value)
            if axis is not None and axis < _rank(value) - 1 and value not in self.in_memory:
                orders[value] = [p for p in range(_rank(value)) if p != axis] + [axis]
        for operation in self.operations:
            _rewrite(operation, orders)
        for value, order in orders.items():
            value.set_type(_permuted_type(value.type, order))
        self._update_signature()

    def _values_in_memory(self) -> set[ir.Value]:
        """Return the values whose layout is given.

        These are arguments, slices of them, results written there, and their conversions between the
        storage dtype and f32: rows convert as whole vectors, and only f32 tiles are transposed.
        """
        fixed: set[ir.Value] = set()
        for argument, attributes in zip(self.function.arguments, self.function.arg_attrs, strict=True):
            if FREE_LAYOUT not in ir.DictAttr(attributes):
                fixed.add(argument)
        pairs = [pair for operation in self.operations for pair in _same_storage(operation)]
        forward = [*pairs, *(pair for op in self.operations for pair in conversions(op))]
        backward = [(result, source) for source, result in forward if _has_own_storage(source)]
        size = -1
        while len(fixed) != size:
            size = len(fixed)
            fixed.update(result for source, result in [*forward, *backward] if source in fixed)
        return fixed

    def _tile_values(self) -> Iterator[ir.Value]:
        yield from self.function.arguments
        for operation in self.operations:
            for region in operation.regions:
                for block in region.blocks:
                    yield from (value for value in block.arguments if _is_tensor(value))
            yield from (value for value in operation.results if _is_tensor(value))

    def _root(self, dimension: Dimension) -> Dimension:
        while dimension in self.parents:
            dimension = self.parents[dimension]
        return dimension

    def _unite(self, left: Dimension, right: Dimension) -> None:
        left, right = self._root(left), self._root(right)
        if left != right:
            self.parents[left] = right

    def _unite_all(self, left: ir.Value, right: ir.Value) -> None:
        for position in range(_rank(left)):
            self._unite((left, position), (right, position))

    def _join(self, operation: ir.OpView) -> None:
        """Unite the dimensions that an operation makes run over the same thing."""
        if operation.name == "linalg.generic":
            first_of_loop: dict[int, Dimension] = {}
            for value, mapping in zip(operation.operands, _maps(operation), strict=True):
                for position, expression in enumerate(mapping.results):
                    dimension = (value, position)
                    loop = ir.AffineDimExpr(expression).position
                    self._unite(dimension, first_of_loop.setdefault(loop, dimension))
        for source, result in _same_storage(operation):
            if _rank(source) == _rank(result):
                self._unite_all(source, result)
            elif "slice" in operation.name:
                self._join_slice(operation, source, result)
        if operation.name in ("tensor.insert_slice", "tensor.parallel_insert_slice"):
            self._join_slice(operation, operation.operands[1], operation.operands[0])

    def _join_slice(self, operation: ir.OpView, whole: ir.Value, tile: ir.Value) -> None:
        for tile_position, position in enumerate(kept_dimensions(operation, tile)):
            self._unite((tile, tile_position), (whole, position))

    def _update_signature(self) -> None:
        types = [argument.type for argument in self.function.arguments]
        returns = [operation for operation in self.operations if operation.name == "func.return"]
        results = [value.type for operation in returns for value in operation.operands]
        signature = ir.FunctionType.get(types, results)
        self.function.attributes["function_type"] = ir.TypeAttr.get(signature)


def _same_storage(operation: ir.OpView) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yield (operand, result or block argument) pairs that bufferization will place in the same buffer."""
    operands = list(operation.operands)
    if operation.name in ("linalg.generic", "linalg.fill"):
        yield operands[-1], operation.results[0]
    elif operation.name == "tensor.extract_slice":
        yield operands[0], operation.results[0]
    elif operation.name == "tensor.insert_slice":
        yield operands[1], operation.results[0]
    elif operation.name == "scf.for":
        loop = ForLoop(operation)
        carried = zip(loop.initial_values, loop.carried, loop.yielded, operation.results, strict=True)
        for initial, argument, next_value, result in carried:
            if not _is_tensor(initial):
                continue
            yield initial, argument
            yield next_value, argument
            yield initial, result
    elif operation.name == "scf.forall":
        count = len(operation.results)
        arguments = list(operation.regions[0].blocks[0].arguments)[-count:]
        for initial, argument, result in zip(operands[-count:], arguments, operation.results, strict=True):
            yield initial, argument
            yield initial, result


def conversions(operation: ir.OpView) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yield (operand, result) of an elementwise operation that only changes the element type."""
    if operation.name == "linalg.generic" and len(operation.operands) == 2:
        source, result = operation.operands[0], operation.results[0]
        if source.type.shape == result.type.shape and source.type.element_type != result.type.element_type:
            yield source, result


def _has_own_storage(value: ir.Value) -> bool:
    """Whether a value is new storage, or computed into it; its layout then binds no accumulator or loop."""
    if not isinstance(value, ir.OpResult):
        return False
    if value.owner.name == "linalg.generic":
        init = value.owner.operands[len(value.owner.operands) - 1]
        return isinstance(init, ir.OpResult) and init.owner.name == "tensor.empty"
    return value.owner.name == "tensor.empty"


def _rewrite(operation: ir.OpView, orders: dict[ir.Value, list[int]]) -> None:
    if operation.name == "linalg.generic":
        _rewrite_structured(operation, orders)
    elif operation.name == "tensor.extract_slice":
        _rewrite_slice(operation, operation.operands[0], operation.results[0], orders)
    elif operation.name in ("tensor.insert_slice", "tensor.parallel_insert_slice"):
        _rewrite_slice(operation, operation.operands[1], operation.operands[0], orders)


def _rewrite_structured(operation: ir.OpView, orders: dict[ir.Value, list[int]]) -> None:
    """Permute operands in the indexing maps, then order the loops as the result's dimensions lie."""
    loops_of = []
    for value, mapping in zip(operation.operands, _maps(operation), strict=True):
        loops = [ir.AffineDimExpr(expression).position for expression in mapping.results]
        loops_of.append([loops[position] for position in orders.get(value, range(len(loops)))])
    count = len(ir.ArrayAttr(operation.attributes["iterator_types"]))
    is_contraction = len(loops_of) == 3 and count > len(loops_of[-1])
    if is_contraction and loops_of[0][-1] == loops_of[-1][-1]:
        _swap_factors(operation, loops_of)
    reductions = [loop for loop in range(count) if loop not in loops_of[-1]]
    # Where no operand lies along all loops, none of them says how vectors lie: queries go last.
    order = [*loops_of[-1], *reductions]
    if max(map(len, loops_of)) < count and len(loops_of[-1]) == 1:
        order = [*reductions, *loops_of[-1]]
    iterators = list(ir.ArrayAttr(operation.attributes["iterator_types"]))
    operation.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[loop] for loop in order])
    operation.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [
            ir.AffineMapAttr.get(
                ir.AffineMap.get(count, 0, [ir.AffineDimExpr.get(order.index(loop)) for loop in loops])
            )
            for loops in loops_of
        ]
    )
    for nested in operations_within(operation):
        if nested.name == "linalg.index":
            loop = ir.IntegerAttr(nested.attributes["dim"]).value
            nested.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), order.index(loop))


def _swap_factors(operation: ir.OpView, loops_of: list[list[int]]) -> None:
    """Put the factor of a contraction that runs along the lanes second, as vector lowerings expect it.

    The body multiplies its first two arguments, both f32, so that only the operands trade places.
    """
    left, right = operation.operands[0], operation.operands[1]
    operation.operands[0], operation.operands[1] = right, left
    loops_of[0], loops_of[1] = loops_of[1], loops_of[0]


def _rewrite_slice(
    operation: ir.OpView, whole: ir.Value, tile: ir.Value, orders: dict[ir.Value, list[int]]
) -> None:
    """Permute the offsets, sizes and strides of a slice of a tensor whose dimensions were reordered."""
    if whole not in orders:
        if tile in orders:
            raise RewriteRefusedError(operation, "its tile has queries in lanes, its memory a given layout")
        return
    order = orders[whole]
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    static = _static(operation, "static_offsets")
    count = sum(offset == dynamic for offset in static)
    before = list(operation.operands)[: len(operation.operands) - count]
    remaining = list(operation.operands)[len(operation.operands) - count :]
    by_position = {position: remaining.pop(0) for position, offset in enumerate(static) if offset == dynamic}
    moved = [by_position[position] for position in order if position in by_position]
    for position, value in enumerate([*before, *moved]):
        operation.operands[position] = value
    for name in ("static_offsets", "static_sizes", "static_strides"):
        values = _static(operation, name)
        operation.attributes[name] = ir.DenseI64ArrayAttr.get([values[position] for position in order])


def _static(operation: ir.OpView, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(operation.attributes[name]))


def _maps(operation: ir.OpView) -> list[ir.AffineMap]:
    return [
        ir.AffineMapAttr(mapping).value for mapping in ir.ArrayAttr(operation.attributes["indexing_maps"])
    ]


def _permuted_type(tensor_type: ir.RankedTensorType, order: Sequence[int]) -> ir.RankedTensorType:
    shape = list(tensor_type.shape)
    return ir.RankedTensorType.get([shape[position] for position in order], tensor_type.element_type)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _rank(value: ir.Value) -> int:
    return value.type.rank
