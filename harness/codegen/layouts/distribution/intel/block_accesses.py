"""The rules for reads and writes of matrices in memory by 2-D block messages."""

from mlir import ir
from mlir.dialects import arith, vector

from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.intel.block_messages import (
    LANES,
    MOST_BLOCKS,
    MOST_COMPONENTS,
    MOST_STORED_ROWS,
    WORD_BYTES,
    Form,
    Message,
    form_of,
    messages,
)
from harness.codegen.layouts.distribution.intel.matrix_in_memory import (
    MatrixInMemory,
    can_be_named,
    is_padded_with_zeros,
)
from harness.codegen.layouts.distribution.intel.xegpu_operations import Block, descriptor, load, store
from harness.codegen.layouts.distribution.lane_coordinates import index
from harness.codegen.layouts.distribution.lane_value import fragment_type
from harness.codegen.layouts.distribution.transfers import bytes_of
from harness.codegen.layouts.layout import Layout

READ_INDEX, WRITE_INDEX = 1, 2
"""Number of the first index operand of a `vector.transfer_read` and of a `vector.transfer_write`."""


def is_block_read(distributor: Distributor, read: ir.OpView) -> bool:
    """Return whether messages give a read the layout that it is wanted in."""
    return (
        can_be_named(read, READ_INDEX)
        and is_padded_with_zeros(read)
        and _form_of_read(distributor, read) is not None
    )


def distribute_block_read(distributor: Distributor, read: ir.OpView) -> None:
    """Load the fragments of a tile, several with a message where it has room for them."""
    (result,) = read.results
    layout, form = distributor.layout(result), _form_of_read(distributor, read)
    kind = fragment_type(layout, result.type.element_type)
    matrix = MatrixInMemory.of(distributor, read, READ_INDEX, layout)
    fragments: dict[int, ir.Value] = {}
    for message in messages(layout, _blocks_of(kind, form)):
        if form is Form.TRANSPOSED:
            pieces = [_load_transposed(matrix, message, kind)]
        else:
            pieces = _load_straight(matrix, message, kind, is_packed=form is Form.TRANSFORMED)
        fragments.update(zip(message.fragments, pieces, strict=True))
    distributor.define_fragments(result, [fragments[number] for number in range(layout.fragments)])


def is_block_write(distributor: Distributor, write: ir.OpView) -> bool:
    """Return whether messages take a value as it is held, of whose elements no two lanes have the same."""
    held = distributor.held(write.operands[0])
    return (
        can_be_named(write, WRITE_INDEX)
        and held.layout.replicas == 1
        and held.layout.registers <= MOST_STORED_ROWS
        and form_of(held.layout, bytes_of(held.element_type), is_packed=False) is Form.PLAIN
    )


def distribute_block_write(distributor: Distributor, write: ir.OpView) -> None:
    """Store each fragment of a tile with a message."""
    held = distributor.held(write.operands[0])
    matrix = MatrixInMemory.of(distributor, write, WRITE_INDEX, held.layout)
    block = Block(held.layout.registers, held.layout.lanes, held.element_type)
    described = descriptor(matrix.base, matrix.rows, matrix.columns, matrix.pitch, block)
    for message in messages(held.layout, blocks=1):
        row, column = matrix.position(message.row, message.column)
        store(held.fragments[message.fragments[0]], described, row, column)


def _form_of_read(distributor: Distributor, read: ir.OpView) -> Form | None:
    (result,) = read.results
    layout = distributor.layout(result)
    return form_of(layout, bytes_of(result.type.element_type), is_packed=_is_packed(distributor, layout))


def _is_packed(distributor: Distributor, layout: Layout) -> bool:
    """Return whether a layout is that of B as products have it from a matrix of rows along k."""
    return layout.registers == distributor.analysis.tiling.instruction.b.registers


def _blocks_of(kind: ir.VectorType, form: Form | None) -> int:
    in_component = WORD_BYTES // bytes_of(kind.element_type) if form is Form.TRANSFORMED else 1
    is_narrow = bytes_of(kind.element_type) < WORD_BYTES and form is not Form.TRANSPOSED
    return min(MOST_BLOCKS if is_narrow else 1, MOST_COMPONENTS * in_component // kind.shape[0])


def _load_straight(
    matrix: MatrixInMemory, message: Message, kind: ir.VectorType, *, is_packed: bool
) -> list[ir.Value]:
    rows, count = kind.shape[0], len(message.fragments)
    block = Block(rows, LANES, kind.element_type, count)
    described = descriptor(matrix.base, matrix.rows, matrix.columns, matrix.pitch, block)
    row, column = matrix.position(message.row, message.column)
    whole = ir.VectorType.get([rows * count], kind.element_type)
    loaded = load(described, row, column, whole, is_packed=is_packed)
    if count == 1:
        return [loaded]
    return [
        vector.extract_strided_slice(kind, loaded, [rows * number], [rows], [1]) for number in range(count)
    ]


def _load_transposed(matrix: MatrixInMemory, message: Message, kind: ir.VectorType) -> ir.Value:
    """Return a fragment whose rows are those of lanes: words of neighbours in a row."""
    in_word = WORD_BYTES // bytes_of(kind.element_type)
    word, words = ir.IntegerType.get_signless(8 * WORD_BYTES), kind.shape[0] // in_word
    block = Block(LANES, words, word)
    columns, pitch = matrix.columns // in_word, matrix.pitch // in_word
    described = descriptor(matrix.base, matrix.rows, columns, pitch, block)
    row, column = matrix.position(message.row, message.column)
    loaded = load(
        described,
        row,
        arith.divui(column, index(in_word)),
        ir.VectorType.get([words], word),
        is_transposed=True,
    )
    return vector.bitcast(kind, loaded)
