"""The `native-vectors` stage: cut vectors to the length of a register, also where loops carry them.

LLVM widens lengths that are no power of two: three registers of eight queries would become four, loaded and
stored element by element.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from mlir import ir
from mlir.dialects import arith, scf, vector

from harness.codegen.ir.walk import functions_of
from harness.system.errors import BuildError

Place = tuple[int, ...]
"""Leading indices of a piece, then its number along the last dimension."""

Pieces = dict[Place, ir.Value]


def split_vectors(module: ir.Module, length: int) -> None:
    """Rewrite all kernels of the module, in place, after n-D vectors have been lowered to rows."""
    for function in functions_of(module):
        splitter = _Splitter(length)
        splitter.rewrite(function.entry_block)
        splitter.erase_replaced()


class _Splitter:
    """Rewrites one kernel; remembers the pieces of every vector that was split."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.pieces: dict[ir.Value, Pieces] = {}
        self.elements: dict[ir.Value, tuple[ir.Value, int]] = {}
        """Scalars taken from a split vector: the vector and the element's number."""
        self.replaced: list[ir.OpView] = []

    def rewrite(self, block: ir.Block) -> None:
        """Rewrite a block's operations in order; what they replace stays until `erase_replaced`."""
        for operation in list(block.operations):
            if self._rewrite(operation):
                self.replaced.append(operation)

    def erase_replaced(self) -> None:
        """Remove the replaced operations, users before what they use."""
        for operation in reversed(self.replaced):
            operation.operation.erase()

    def _rewrite(self, operation: ir.OpView) -> bool:
        """Rewrite one operation; return whether it is to be removed after those that come before it."""
        if operation.name == "scf.for":
            return self._split_loop(operation)
        for region in operation.regions:
            for block in region.blocks:
                self.rewrite(block)
        values = [*operation.operands, *operation.results]
        if not any(self._splits(value.type) or value in self.elements for value in values):
            return False
        with ir.InsertionPoint(operation), operation.location:
            handler = HANDLERS.get(operation.name, _Splitter._split_elementwise)
            return handler(self, operation)

    def _splits(self, kind: ir.Type) -> bool:
        if not isinstance(kind, ir.VectorType) or not kind.shape:
            return False
        last = kind.shape[-1]
        return last % self.length == 0 and (last > self.length or kind.rank > 1)

    def _places(self, kind: ir.VectorType) -> list[Place]:
        return list(np.ndindex(*kind.shape[:-1], kind.shape[-1] // self.length))

    def _native(self, kind: ir.VectorType) -> ir.VectorType:
        return ir.VectorType.get([self.length], kind.element_type)

    def _split_elementwise(self, operation: ir.OpView) -> bool:
        """Apply an operation without memory access or reordering to each piece."""
        if not operation.name.startswith(("arith.", "math.", "vector.fma")):
            raise BuildError(f"vectors of {operation.name} cannot be cut to registers")
        result = operation.results[0]
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        pieces = {}
        for place in self._places(result.type):
            operands = [self.pieces[value][place] for value in operation.operands]
            piece = ir.Operation.create(
                operation.name, [self._native(result.type)], operands, attributes=attributes
            )
            pieces[place] = piece.results[0]
        self.pieces[result] = pieces
        return True

    def _split_constant(self, operation: ir.OpView) -> bool:
        result = operation.results[0]
        value = ir.DenseElementsAttr(operation.attributes["value"])
        native = self._native(result.type)
        if value.is_splat:
            piece = arith.constant(native, ir.DenseElementsAttr.get_splat(native, value.get_splat_value()))
            self.pieces[result] = dict.fromkeys(self._places(result.type), piece)
            return True
        elements = list(_dense_values(value))
        self.pieces[result] = {
            place: arith.constant(native, _dense(native, elements[start : start + self.length]))
            for place, start in zip(
                self._places(result.type), range(0, len(elements), self.length), strict=True
            )
        }
        return True

    def _split_poison(self, operation: ir.OpView) -> bool:
        result = operation.results[0]
        piece = ir.Operation.create(operation.name, [self._native(result.type)]).results[0]
        self.pieces[result] = dict.fromkeys(self._places(result.type), piece)
        return True

    def _split_broadcast(self, operation: ir.OpView) -> bool:
        source, result = operation.operands[0], operation.results[0]
        places = self._places(result.type)
        if not isinstance(source.type, ir.VectorType):
            piece = vector.broadcast(self._native(result.type), source)
            self.pieces[result] = dict.fromkeys(places, piece)
            return True
        rank = source.type.rank
        whole = self.pieces.get(source) or {(0,): source}
        self.pieces[result] = {place: whole[place[len(place) - rank :]] for place in places}
        return True

    def _split_load(self, operation: ir.OpView) -> bool:
        result = operation.results[0]
        base, *indices = operation.operands
        self.pieces[result] = {
            place: vector.load(self._native(result.type), base, self._indices(indices, place))
            for place in self._places(result.type)
        }
        return True

    def _split_store(self, operation: ir.OpView) -> bool:
        value, base, *indices = operation.operands
        for place, piece in self.pieces[value].items():
            vector.store(piece, base, self._indices(indices, place))
        return True

    def _indices(self, indices: list[ir.Value], place: Place) -> list[ir.Value]:
        """Return the position in memory of a piece of a row that starts at `indices`."""
        if len(place) != 1:
            raise BuildError("only rows are loaded and stored when vectors are cut to registers")
        offset = place[0] * self.length
        if offset == 0:
            return indices
        return [*indices[:-1], arith.addi(indices[-1], arith.constant(ir.IndexType.get(), offset))]

    def _split_extract(self, operation: ir.OpView) -> bool:
        source, result = operation.operands[0], operation.results[0]
        position = tuple(ir.DenseI64ArrayAttr(operation.attributes["static_position"]))
        if len(operation.operands) != 1:
            raise BuildError("vectors that are indexed at run time cannot be cut to registers")
        if not isinstance(result.type, ir.VectorType):
            self._take_element(result, source, int(np.ravel_multi_index(position, source.type.shape)))
            return True
        pieces = {
            place[len(position) :]: piece
            for place, piece in self.pieces[source].items()
            if place[: len(position)] == position
        }
        if self._splits(result.type):
            self.pieces[result] = pieces
        else:
            result.replace_all_uses_with(pieces[(0,)])
        return True

    def _split_insert(self, operation: ir.OpView) -> bool:
        value, destination = operation.operands
        result = operation.results[0]
        position = tuple(ir.DenseI64ArrayAttr(operation.attributes["static_position"]))
        inserted = self.pieces.get(value) or {(0,): value}
        pieces = dict(self.pieces[destination])
        pieces.update({(*position, *place): piece for place, piece in inserted.items()})
        self.pieces[result] = pieces
        return True

    def _split_part(self, operation: ir.OpView) -> bool:
        """Take one register's part of a vector for what it is."""
        source, result = operation.operands[0], operation.results[0]
        (start,) = (ir.IntegerAttr(offset).value for offset in operation.attributes["offsets"])
        if source not in self.pieces or start % self.length or self._splits(result.type):
            raise BuildError(f"vectors of {operation} cannot be cut to registers")
        result.replace_all_uses_with(self.pieces[source][(start // self.length,)])
        return True

    def _keep(self, operation: ir.OpView) -> bool:
        """Leave what was written for whole registers as it is, whatever else their bits stand for."""
        return False

    def _split_reduction(self, operation: ir.OpView) -> bool:
        """Reduce what the pieces have in common lanes first; only of truth values, whether there is any."""
        pieces = list(self.pieces[operation.operands[0]].values())
        if len(operation.operands) != 1 or "<or>" not in str(operation.attributes["kind"]):
            raise BuildError(f"vectors of {operation} cannot be cut to registers")
        operation.operands[0] = functools.reduce(arith.ori, pieces)
        return False

    def _split_to_elements(self, operation: ir.OpView) -> bool:
        """Note where each scalar comes from; only what no vector takes up again is extracted."""
        source = operation.operands[0]
        if source not in self.pieces:
            return False
        for number, element in enumerate(operation.results):
            self.elements[element] = (source, number)
        return True

    def _split_from_elements(self, operation: ir.OpView) -> bool:
        result = operation.results[0]
        operands = list(operation.operands)
        if not self._splits(result.type):
            for position, operand in enumerate(operands):
                operation.operands[position] = self._scalar(operand)
            return False
        starts = range(0, len(operands), self.length)
        self.pieces[result] = {
            place: self._gathered(operands[start : start + self.length], self._native(result.type))
            for place, start in zip(self._places(result.type), starts, strict=True)
        }
        return True

    def _gathered(self, operands: list[ir.Value], native: ir.VectorType) -> ir.Value:
        """Return the vector of these scalars: an existing piece if they are one in order, else a new one."""
        origins = [self.elements.get(operand) for operand in operands]
        first = origins[0]
        if first is not None and first[1] % self.length == 0:
            source, start = first
            if origins == [(source, start + step) for step in range(self.length)]:
                return self._piece_at(source, start)
        return ir.Operation.create(
            "vector.from_elements", [native], [self._scalar(operand) for operand in operands]
        ).results[0]

    def _take_element(self, result: ir.Value, source: ir.Value, number: int) -> None:
        self.elements[result] = (source, number)
        result.replace_all_uses_with(self._scalar(result))

    def _scalar(self, value: ir.Value) -> ir.Value:
        if value not in self.elements:
            return value
        source, number = self.elements[value]
        return vector.extract(self._piece_at(source, number), [], [number % self.length])

    def _piece_at(self, source: ir.Value, number: int) -> ir.Value:
        """Return the piece that holds an element, by its number in row-major order."""
        return self.pieces[source][self._places(source.type)[number // self.length]]

    def _split_loop(self, operation: ir.OpView) -> bool:
        """Let a loop carry the pieces of the vectors that it carried."""
        lower, upper, step, *initial = operation.operands
        if not any(self._splits(value.type) for value in initial):
            self.rewrite(operation.regions[0].blocks[0])
            return False
        with ir.InsertionPoint(operation), operation.location:
            loop = scf.ForOp(lower, upper, step, [piece for value in initial for piece in self._parts(value)])
        body = operation.regions[0].blocks[0]
        induction, *arguments = body.arguments
        induction.replace_all_uses_with(loop.induction_variable)
        for old, results, carried in (
            (list(arguments), list(loop.inner_iter_args), initial),
            (list(operation.results), list(loop.results), initial),
        ):
            self._map_carried(old, results, carried)
        self.replaced.append(operation)
        *contents, old_yield = list(body.operations)
        with ir.InsertionPoint(loop.body), operation.location:
            end = scf.YieldOp([])
        for nested in contents:
            nested.move_before(end)
        for nested in contents:
            if self._rewrite(nested):
                self.replaced.append(nested)
        with ir.InsertionPoint(end), operation.location:
            scf.YieldOp([piece for value in old_yield.operands for piece in self._parts(value)])
        end.operation.erase()
        old_yield.operation.erase()
        return False

    def _parts(self, value: ir.Value) -> list[ir.Value]:
        return list(self.pieces[value].values()) if self._splits(value.type) else [value]

    def _map_carried(self, old: list[ir.Value], new: list[ir.Value], initial: list[ir.Value]) -> None:
        """Assign the new loop's values to the old one's, piece by piece."""
        remaining = iter(new)
        for value, start in zip(old, initial, strict=True):
            if self._splits(start.type):
                self.pieces[value] = {place: next(remaining) for place in self.pieces[start]}
            else:
                value.replace_all_uses_with(next(remaining))


HANDLERS: dict[str, Callable[[_Splitter, ir.OpView], bool]] = {
    "arith.constant": _Splitter._split_constant,
    "ub.poison": _Splitter._split_poison,
    "vector.broadcast": _Splitter._split_broadcast,
    "vector.load": _Splitter._split_load,
    "vector.store": _Splitter._split_store,
    "vector.extract": _Splitter._split_extract,
    "vector.extract_strided_slice": _Splitter._split_part,
    "vector.insert": _Splitter._split_insert,
    "vector.bitcast": _Splitter._keep,
    "vector.shuffle": _Splitter._keep,
    "llvm.call_intrinsic": _Splitter._keep,
    "x86vector.avx512.dot": _Splitter._keep,
    "vector.reduction": _Splitter._split_reduction,
    "vector.to_elements": _Splitter._split_to_elements,
    "vector.from_elements": _Splitter._split_from_elements,
}


def _dense_values(value: ir.DenseElementsAttr) -> Iterator[int | float]:
    kind = value.type.element_type
    dense = ir.DenseFPElementsAttr if isinstance(kind, ir.FloatType) else ir.DenseIntElementsAttr
    yield from dense(value)


def _dense(native: ir.VectorType, elements: list[int | float]) -> ir.Attribute:
    kind = native.element_type
    attribute = ir.FloatAttr if isinstance(kind, ir.FloatType) else ir.IntegerAttr
    return ir.DenseElementsAttr.get([attribute.get(kind, element) for element in elements], native)
