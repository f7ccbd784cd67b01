"""Fragments that are cut out of what one message gives: as words, before they are taken for narrow elements.

A message for two fragments gives 16 words, which are 32 elements of 16 bits.  SPIR-V has no vectors of 32,
and LLVM would take one apart into its elements.
"""

from mlir import ir
from mlir.dialects import vector

from harness.ir.walk import operations_within, producer_of


def cut_words(module: ir.Module) -> None:
    """Let slices of a vector that words were taken for be slices of the words, in place."""
    for operation in list(operations_within(module.operation)):
        if operation.operation.name == "vector.extract_strided_slice":
            _cut(operation)


def _cut(piece: ir.OpView) -> None:
    taken_for = producer_of(piece.operands[0])
    if taken_for is None or taken_for.operation.name != "vector.bitcast":
        return
    words, elements = taken_for.operands[0], taken_for.results[0]
    in_word, rest = divmod(elements.type.shape[0], words.type.shape[0])
    (start,), (size,) = (
        [ir.IntegerAttr(number).value for number in ir.ArrayAttr(piece.attributes[name])]
        for name in ("offsets", "sizes")
    )
    if rest or in_word < 2 or start % in_word or size % in_word:
        return
    kind = ir.VectorType.get([size // in_word], words.type.element_type)
    with ir.InsertionPoint(piece), piece.location:
        cut = vector.extract_strided_slice(kind, words, [start // in_word], [size // in_word], [1])
        fragment = vector.bitcast(piece.results[0].type, cut)
    piece.results[0].replace_all_uses_with(fragment)
    piece.operation.erase()
