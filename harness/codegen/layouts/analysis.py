"""Layout analysis: from the matrix products of a kernel outwards, which layout each value has.

After Menon's talk *High-dimensional layouts for vector distribution*.  Products fix the layout of their
results.  From there layouts spread through elementwise operations, reductions, broadcasts and loops
(`harness.codegen.layouts.constraints`).  Operands of products that have none yet, which are read from memory,
get the one that the instruction wants.  What is then held in one layout and wanted in another is a conflict:
a conversion is put there, or a trip through shared memory where warps have to exchange elements, or the value
is read once more.
"""

from collections import deque

from mlir import ir
from mlir.dialects import builtin

from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.constraints import (
    Link,
    is_copy,
    is_copy_out,
    is_vector,
    links,
    transposed_on_its_way,
)
from harness.codegen.layouts.conversion import Conflict, Conversion, convert
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.codegen.layouts.workgroup_memory import exchanged
from harness.system.errors import BuildError

CHEAP = ("arith.constant", "vector.broadcast", "vector.transpose")
"""Operations that cost nothing once they are distributed: every use gets one of its own."""

TRANSFERS = ("vector.transfer_read", "vector.transfer_write")
ANCHORS = ("vector.multi_reduction", *TRANSFERS)
"""Operations whose matrices are not transposed."""

CONVERSION = "builtin.unrealized_conversion_cast"
"""Stands between a value that is held in one layout and its use that wants another."""

WORD_BYTES = 4

LAYOUT, CONFLICT = "layout", "conflict"
"""Attributes that show what the analysis has found."""


class LayoutAnalysis:
    """The layouts of all vectors in a function, and the conflicts between them."""

    def __init__(self, function: ir.OpView, tiling: WarpTiling) -> None:
        """Analyse a function, whose cheap operations are first copied for each use.

        Raises `BuildError` when a shape does not fit the instruction, or a value has no layout.
        """
        self.tiling = tiling
        self.layouts: dict[ir.Value, Layout] = {}
        self.conversions: dict[ir.Value, Conversion] = {}
        """How the results of conversions, and of reads after a trip through shared memory, come about."""
        self._function = function
        copy_for_each_use(function)
        self._links = self._all_links()
        self._assign_layouts()
        self._resolve_conflicts()

    def layout(self, value: ir.Value) -> Layout:
        """Return the layout that a value is held in."""
        return self.layouts[value]

    def annotate(self) -> None:
        """Write layouts and conflicts into the attributes of the operations, for people to read."""
        for operation in list(operations_within(self._function)):
            held = [self.layouts[result] for result in operation.results if result in self.layouts]
            if held:
                texts = [ir.StringAttr.get(str(layout)) for layout in held]
                operation.attributes[LAYOUT] = texts[0] if len(texts) == 1 else ir.ArrayAttr.get(texts)
            for result in operation.results:
                if result in self.conversions:
                    conflict = self.conversions[result].conflict
                    operation.attributes[CONFLICT] = ir.StringAttr.get(str(conflict))

    def _all_links(self) -> dict[ir.Value, list[Link]]:
        links_of: dict[ir.Value, list[Link]] = {}
        for operation in operations_within(self._function):
            for link in links(operation):
                links_of.setdefault(link.source, []).append(link)
                links_of.setdefault(link.target, []).append(link)
        return links_of

    def _assign_layouts(self) -> None:
        self._lay_out_copies()
        self._lay_out_results_of_products()
        self._lay_out_operands_of_products()
        self._lay_out_what_no_product_reaches()
        self._lay_out_rows_that_no_matrix_reaches()
        self._require_layouts()

    def _lay_out_copies(self) -> None:
        """Tiles that are copied to shared memory, or from there, lie as the lanes share the copy."""
        for operation in operations_within(self._function):
            if operation.name == "vector.transfer_write" and (is_copy(operation) or is_copy_out(operation)):
                tile = operation.operands[0].type
                rows, columns = tile.shape
                pitch = operation.operands[1].type.shape[-1] if is_copy(operation) else None
                layout = self.tiling.copy(rows, columns, tile.element_type.width // 8, pitch)
                self._assign(operation.operands[0], layout)
            elif operation.name == "vector.transfer_write":
                self._lay_out_transposing_copy(operation)

    def _lay_out_transposing_copy(self, write: ir.OpView) -> None:
        """A tile that is transposed on its way lies in runs along its rows when read, down them when written.

        Raises `BuildError` where the lanes cannot share it in blocks.
        """
        read = transposed_on_its_way(write)
        if read is None:
            return
        tile, pitch = read.results[0].type, write.operands[1].type.shape[-1]
        rows, columns = tile.shape
        element_bytes = tile.element_type.width // 8
        as_read, as_written = self.tiling.transposing_copy(rows, columns, element_bytes, pitch)
        self.layouts[read.results[0]] = as_read
        self.layouts[write.operands[0]] = as_written.transposed()

    def _lay_out_results_of_products(self) -> None:
        for product in self._products():
            self._assign(product.results[0], self.tiling.result(*product.results[0].type.shape))

    def _lay_out_operands_of_products(self) -> None:
        for product in self._products():
            for number, value in enumerate(list(product.operands)[:2]):
                self._assign(value, wanted_operand(product, number, self.tiling))

    def _lay_out_what_no_product_reaches(self) -> None:
        """What is reduced, read or written without a product lies as results of products do.

        In a kernel without any, lanes have the widest accesses.
        """
        layout_of = self.tiling.result if self._products() else self._widest
        for names in (ANCHORS, None):
            for operation in operations_within(self._function):
                for value in (*operation.operands, *operation.results):
                    is_chosen = names is None or operation.name in names
                    if is_chosen and is_vector(value) and value not in self.layouts and value.type.rank == 2:
                        self._assign(value, layout_of(*value.type.shape))

    def _widest(self, rows: int, columns: int) -> Layout:
        """Return the layout in which lanes have 16 bytes of the narrowest elements that memory has."""
        transfers = [op for op in operations_within(self._function) if op.name in TRANSFERS]
        tiles = [op.operands[0] if op.name == TRANSFERS[1] else op.results[0] for op in transfers]
        matrices = [tile.type for tile in tiles if tile.type.rank == 2]
        element_bytes = min((kind.element_type.width // 8 for kind in matrices), default=WORD_BYTES)
        if self.tiling.shared_memory is None or not self.tiling.can_copy(rows, columns, element_bytes):
            return self.tiling.result(rows, columns)
        return self.tiling.copy(rows, columns, element_bytes)

    def _lay_out_rows_that_no_matrix_reaches(self) -> None:
        """Numbers of rows that come from no matrix lie as those do that are reduced along its rows.

        Where masks hide every key, nothing is computed: such numbers are constants.
        """
        matrices = {layout.shape[0]: layout for layout in self.layouts.values() if len(layout.shape) == 2}
        for operation in operations_within(self._function):
            for value in operation.results:
                is_left = is_vector(value) and value not in self.layouts and value.type.rank == 1
                if is_left and value.type.shape[0] in matrices:
                    self._assign(value, matrices[value.type.shape[0]].slice(1))

    def _require_layouts(self) -> None:
        for operation in operations_within(self._function):
            for value in operation.results:
                if is_vector(value) and value not in self.layouts:
                    raise BuildError(f"no layout follows for the result of {operation.name}")

    def _products(self) -> list[ir.OpView]:
        return [op for op in operations_within(self._function) if op.name == "vector.contract"]

    def _assign(self, value: ir.Value, layout: Layout) -> None:
        waiting = deque([(value, layout)])
        while waiting:
            reached, reached_layout = waiting.popleft()
            if reached in self.layouts:
                continue
            self.layouts[reached] = reached_layout
            for link in self._links.get(reached, ()):
                if link.source == reached and link.forward is not None:
                    waiting.append((link.target, link.forward(reached_layout)))
                if link.target == reached and link.backward is not None:
                    waiting.append((link.source, link.backward(reached_layout)))

    def _resolve_conflicts(self) -> None:
        for operation in list(operations_within(self._function)):
            for number, operand in enumerate(operation.operands):
                wanted = self._wanted(operation, number) if is_vector(operand) else None
                if wanted is None or self.layouts[operand].is_equivalent(wanted):
                    continue
                operation.operation.operands[number] = self._in_layout(operand, wanted, operation)

    def _in_layout(self, value: ir.Value, wanted: Layout, use: ir.OpView) -> ir.Value:
        """Return a value in another layout: converted before its use, or read from memory once more."""
        producer = value.owner
        if not isinstance(producer, ir.Block) and producer.name == "vector.transfer_read":
            again = producer.operation.clone(ir.InsertionPoint(producer)).results[0]
            self.layouts[again] = wanted
            return again
        conversion = convert(self.layouts[value], wanted)
        if conversion.conflict is Conflict.SHARED_MEMORY:
            read = exchanged(value, use)
            self.layouts[read] = wanted
            self.conversions[read] = conversion
            return read
        with ir.InsertionPoint(use), use.location:
            cast = builtin.UnrealizedConversionCastOp([value.type], [value]).results[0]
        self.layouts[cast] = wanted
        self.conversions[cast] = conversion
        return cast

    def _wanted(self, operation: ir.OpView, number: int) -> Layout | None:
        """Return the layout in which an operation wants an operand; None if it takes any."""
        if operation.name == "vector.contract" and number < 2:
            return wanted_operand(operation, number, self.tiling)
        if operation.name == "scf.yield":
            loop = operation.operation.parent.opview
            return self.layouts[loop.results[number]] if loop.name == "scf.for" else None
        operand = operation.operands[number]
        for link in links(operation):
            if link.source == operand and link.backward is not None and link.target in self.layouts:
                return link.backward(self.layouts[link.target])
        return None


def wanted_operand(product: ir.OpView, number: int, tiling: WarpTiling) -> Layout:
    """Return the layout in which the matrix instruction takes operand 0 or 1 of a `vector.contract`."""
    mapping = ir.AffineMapAttr(ir.ArrayAttr(product.attributes["indexing_maps"])[number]).value
    first, second = (ir.AffineDimExpr(result).position for result in mapping.results)
    shape = product.operands[number].type.shape
    is_straight = second == 2
    free, depth = (shape[0], shape[1]) if is_straight else (shape[1], shape[0])
    if {first, second} != {number, 2}:
        raise BuildError(f"a product with operand {number} indexed by {mapping} is no A·Bᵀ")
    layout = tiling.left(free, depth) if number == 0 else tiling.right(free, depth)
    return layout if is_straight else layout.transposed()


def copy_for_each_use(function: ir.OpView) -> None:
    """Give each use of a cheap operation a copy of its own, so that it can have the layout it wants."""
    for operation in reversed(list(operations_within(function))):
        if operation.name in CHEAP and is_vector(operation.results[0]):
            for use in list(operation.results[0].uses)[1:]:
                user, number = use.owner, use.operand_number
                copy = operation.operation.clone(ir.InsertionPoint(user))
                user.operands[number] = copy.results[0]
