"""The matrix instructions of NVIDIA GPUs: `mma.sync` (PTX ISA 9.2, section 9.7.14.5).

Lane l is in group l / 4, the dimension `lane_y`, and number l % 4 in it, `lane_x`.  Registers of 32 bits hold
two 16-bit elements that are neighbours along k.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness.codegen.layouts.layout import Layout, lane, vector
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, Registers
from harness.codegen.layouts.register_pairs import pairs_of

if TYPE_CHECKING:
    from mlir import ir

REGISTER_BITS = 32
UNREAD_BITS = 0x1FFF
"""The bits of a float that are not part of its tf32."""
SIGN_BIT, EXPONENT_BITS, ONE = -(1 << 31), 0x7F80_0000, 0x3F80_0000
"""Of a float, and the bits of 1."""

GROUP, IN_GROUP = lane("y", 8), lane("x", 4)
LANES = (GROUP, IN_GROUP)
PAIR = vector("x", 2)
HALVES_OF_ROWS, HALVES_OF_COLUMNS = vector("z", 2), vector("y", 2)

A_16_BIT = Layout(
    axes=((HALVES_OF_ROWS, GROUP), (HALVES_OF_COLUMNS, IN_GROUP, PAIR)),
    order=(*LANES, HALVES_OF_COLUMNS, HALVES_OF_ROWS, PAIR),
)
"""16×16: figure 79."""

B_16_BIT = Layout(
    axes=((GROUP,), (HALVES_OF_COLUMNS, IN_GROUP, PAIR)), order=(*LANES, HALVES_OF_COLUMNS, PAIR)
)
"""8×16, of which the figure (81) shows the transpose."""

A_TF32 = Layout(
    axes=((HALVES_OF_ROWS, GROUP), (HALVES_OF_COLUMNS, IN_GROUP)),
    order=(*LANES, HALVES_OF_COLUMNS, HALVES_OF_ROWS),
)
"""16×8: figure 72."""

B_TF32 = Layout(axes=((GROUP,), (HALVES_OF_COLUMNS, IN_GROUP)), order=(*LANES, HALVES_OF_COLUMNS))
"""8×8: figure 75."""

ACCUMULATOR = Layout(axes=((HALVES_OF_ROWS, GROUP), (IN_GROUP, PAIR)), order=(*LANES, HALVES_OF_ROWS, PAIR))
"""16×8: figures 76 and 82."""


def _mma_sync(
    shape: tuple[int, int, int],
    operand: str,
    pairs: "Sequence[tuple[Registers, Registers]]",
    c: "ir.Value",
) -> "ir.Value":
    from mlir import ir
    from mlir.dialects import llvm, nvvm

    m, n, k = shape
    elements = _sums(c)
    register = elements[0].type
    result_type = ir.Type.parse(f"!llvm.struct<({', '.join([str(register)] * len(elements))})>")
    types = ir.Attribute.parse(f"#nvvm.mma_type<{operand}>")
    form = ir.Attribute.parse(f"#nvvm.shape<m = {m}, n = {n}, k = {k}>")
    row, column = (ir.Attribute.parse(f"#nvvm.mma_layout<{name}>") for name in ("row", "col"))
    for a, b in pairs:
        product = nvvm.mma_sync(
            result_type,
            form,
            row,
            column,
            list(a),
            list(b),
            list(elements),
            multiplicand_a_ptx_type=types,
            multiplicand_b_ptx_type=types,
        )
        elements = tuple(
            llvm.extractvalue(register, product, ir.DenseI64ArrayAttr.get([number]))
            for number in range(len(elements))
        )
    return _fragment_of_sums(c.type, elements)


def _sums(fragment: "ir.Value") -> "Registers":
    """Return the registers of C: its numbers of f32, or pairs of f16."""
    from mlir.dialects import vector as vector_dialect

    if fragment.type.element_type.width < REGISTER_BITS:
        return tuple(pairs_of(fragment))
    return tuple(vector_dialect.extract(fragment, [], [number]) for number in range(fragment.type.shape[0]))


def _fragment_of_sums(kind: "ir.VectorType", registers: "Sequence[ir.Value]") -> "ir.Value":
    from mlir.dialects import vector as vector_dialect

    if kind.element_type.width < REGISTER_BITS:
        return vector_dialect.shuffle(*registers, range(kind.shape[0]))
    return vector_dialect.from_elements(kind, registers)


def _mma_sync_in_three_terms(
    shape: tuple[int, int, int], pairs: "Sequence[tuple[Registers, Registers]]", c: "ir.Value"
) -> "ir.Value":
    """Emit a product of f32 as three of tf32, the smaller terms first.

    Each operand is a sum of two tf32 numbers, a = a₁ + a₂ with |a₂| ≤ 2⁻¹¹·|a|; what is left out, a₂·b₂ and
    the rounding of a₂ and b₂, is below 2⁻²¹ of a product (Ootomo and Yokota, *Recovering single precision
    accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance*, 2022).
    """
    terms = []
    for a, b in pairs:
        (a_large, a_small), (b_large, b_small) = _halves(a), _halves(b)
        terms += [(a_small, b_large), (a_large, b_small), (a_large, b_large)]
    return _mma_sync(shape, "tf32", terms, c)


def _halves(registers: "Registers") -> "tuple[Registers, Registers]":
    middle = len(registers) // 2
    return registers[:middle], registers[middle:]


def _two_terms(fragment: "ir.Value") -> "Registers":
    """Return the registers of two tf32 fragments whose sum is a fragment of f32, the larger one first.

    The terms of infinity are 1 of its sign, and infinity: with any number but 0 they multiply to infinities
    of one sign, which finite terms are added to.  NaN is a term, too: a difference is quiet, so that its
    upper bits tell it from infinity, which are all that the matrix unit reads.
    """
    from mlir.dialects import arith
    from mlir.dialects import vector as vector_dialect

    bits = vector_dialect.bitcast(_words_like(fragment), fragment)
    exponent = arith.andi(bits, _splat(bits, EXPONENT_BITS))
    is_finite = arith.cmpi(arith.CmpIPredicate.ne, exponent, _splat(bits, EXPONENT_BITS))
    bits_of_signed_one = arith.ori(arith.andi(bits, _splat(bits, SIGN_BIT)), _splat(bits, ONE))
    signed_one = vector_dialect.bitcast(fragment.type, bits_of_signed_one)
    large = arith.select(is_finite, _rounded_to_tf32(fragment), signed_one)
    rest = arith.subf(fragment, large)
    small = arith.select(is_finite, _rounded_to_tf32(rest), rest)
    return (*_registers(large), *_registers(small))


def _rounded_to_tf32(fragment: "ir.Value") -> "ir.Value":
    """Return the nearest numbers without the mantissa bits that the matrix unit does not read."""
    from mlir.dialects import arith
    from mlir.dialects import vector as vector_dialect

    bits = vector_dialect.bitcast(_words_like(fragment), fragment)
    nearest = arith.andi(arith.addi(bits, _splat(bits, UNREAD_BITS // 2 + 1)), _splat(bits, ~UNREAD_BITS))
    return vector_dialect.bitcast(fragment.type, nearest)


def _words_like(fragment: "ir.Value") -> "ir.Type":
    from mlir import ir

    return ir.VectorType.get(fragment.type.shape, ir.IntegerType.get_signless(REGISTER_BITS))


def _splat(like: "ir.Value", bits: int) -> "ir.Value":
    from mlir import ir
    from mlir.dialects import arith

    attribute = ir.IntegerAttr.get(like.type.element_type, bits)
    return arith.constant(like.type, ir.DenseElementsAttr.get_splat(like.type, attribute))


def _registers(fragment: "ir.Value") -> "Registers":
    """Return a fragment as 32-bit registers: pairs of f16, else the bits."""
    from mlir import ir
    from mlir.dialects import vector as vector_dialect

    element = fragment.type.element_type
    count = fragment.type.shape[0] * element.width // REGISTER_BITS
    word = ir.IntegerType.get_signless(REGISTER_BITS)
    if element.width == REGISTER_BITS:
        words = vector_dialect.bitcast(ir.VectorType.get([count], word), fragment)
        return tuple(vector_dialect.extract(words, [], [number]) for number in range(count))
    pairs = pairs_of(fragment)
    if str(element) == "f16":
        return tuple(pairs)
    one_word = ir.VectorType.get([1], word)
    return tuple(vector_dialect.extract(vector_dialect.bitcast(one_word, pair), [], [0]) for pair in pairs)


def _instruction(k: int, operand: str, a: Layout, b: Layout, section: str) -> MatrixInstruction:
    suffix = "" if operand == "f16" else f".{operand}"
    return MatrixInstruction(
        name=f"mma.sync.m16n8k{k}{suffix}",
        vendor="nvidia",
        m=16,
        n=8,
        k=k,
        operand="f32" if operand == "tf32" else operand,
        accumulator="f32",
        a=a,
        b=b,
        c=ACCUMULATOR,
        source=f"PTX ISA 9.2, section {section}",
        prepare=_registers,
        emit=partial(_mma_sync, (16, 8, k), operand),
    )


M16N8K16_F16 = _instruction(16, "f16", A_16_BIT, B_16_BIT, "9.7.14.5.8")
M16N8K16_BF16 = _instruction(16, "bf16", A_16_BIT, B_16_BIT, "9.7.14.5.8")
M16N8K8_TF32 = _instruction(8, "tf32", A_TF32, B_TF32, "9.7.14.5.7")
M16N8K8_TF32_X3 = replace(
    M16N8K8_TF32,
    name=f"{M16N8K8_TF32.name}x3",
    terms=2,
    prepare=_two_terms,
    emit=partial(_mma_sync_in_three_terms, (16, 8, 8)),
)
"""A product of f32 in three of tf32."""

INSTRUCTIONS = (M16N8K16_F16, M16N8K16_BF16, M16N8K8_TF32, M16N8K8_TF32_X3)
"""All that code is generated for; accumulators are f32."""
