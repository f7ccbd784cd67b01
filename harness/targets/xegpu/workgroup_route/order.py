"""The stage `in-order`: a lane's products in the order of what they load, which stands just before them.

MLIR's passes leave all loads of a tile before its products, and take a fragment of K or V for one band of
rows long after another: all of it would be in registers meanwhile.
"""

from collections.abc import Sequence

from mlir import ir

from harness.codegen.ir.walk import operations_within, producer_of
from harness.targets.xegpu.workgroup_route.layouts import DPAS, LOAD
from harness.targets.xegpu.workgroup_route.masks import loaded

LOOP = "scf.for"


def order_products(kernel: ir.OpView) -> None:
    """Order the operations of each loop of a kernel, and those behind its loops, in place.

    Nothing that they load is stored before.
    """
    loops = [operation for operation in operations_within(kernel) if operation.name == LOOP]
    for loop in loops:
        _Body(_operations_of(loop)).order()
    operations = _operations_of(kernel)
    places = [number for number, operation in enumerate(operations) if operation.name == LOOP]
    _Body(operations[max(places, default=-1) + 1 :]).order()


def _operations_of(operation: ir.OpView) -> list[ir.Operation]:
    return [nested.operation for nested in operation.regions[0].blocks[0].operations]


class _Body:
    """The last operations of a block, and in which order they are to stand."""

    def __init__(self, operations: Sequence[ir.Operation]) -> None:
        *self._operations, self._end = operations
        self._numbers = {operation: number for number, operation in enumerate(self._operations)}
        self._ordered: dict[ir.Operation, None] = {}

    def order(self) -> None:
        """First products with Q, then what makes weights of scores, then products with V."""
        products = [operation for operation in self._operations if operation.name == DPAS]
        of_scores = [product for product in products if self._takes_query(product)]
        of_values = [product for product in products if not self._takes_query(product)]
        behind = self._depending_on(of_values)
        for product in sorted(of_scores, key=self._place):
            self._take(product)
        for operation in self._operations:
            if operation.name != LOAD and operation not in behind and not _is_move(operation):
                self._take(operation)
        for product in sorted(of_values, key=self._place):
            self._take(product)
        for operation in self._operations:
            self._take(operation)
        for operation in self._ordered:
            operation.move_before(self._end)

    def _takes_query(self, product: ir.Operation) -> bool:
        return loaded(product.operands[0]) is not None

    def _place(self, product: ir.Operation) -> tuple[int, int]:
        load = loaded(product.operands[1])
        own = self._numbers[product]
        return (own if load is None else self._numbers.get(load.operation, own), own)

    def _depending_on(self, products: Sequence[ir.Operation]) -> set[ir.Operation]:
        depending = set(products)
        for operation in self._operations:
            makers = (producer_of(operand) for operand in operation.operands)
            if any(maker is not None and maker.operation in depending for maker in makers):
                depending.add(operation)
        # What scales an accumulator is needed by the product alone.
        for product in products:
            maker = producer_of(product.operands[2])
            if maker is not None and maker.name == "arith.mulf":
                depending.add(maker.operation)
        return depending

    def _take(self, operation: ir.Operation) -> None:
        """Take an operation, and before it what it needs and is not there yet."""
        waiting = [operation]
        while waiting:
            last = waiting[-1]
            if last in self._ordered:
                waiting.pop()
                continue
            makers = [maker.operation for maker in map(producer_of, last.operands) if maker is not None]
            needed = [maker for maker in makers if maker in self._numbers and maker not in self._ordered]
            if needed:
                waiting += reversed(needed)
            else:
                self._ordered[waiting.pop()] = None


def _is_move(operation: ir.Operation) -> bool:
    return operation.name in ("vector.shape_cast", "vector.bitcast")
