"""AMD's matrix instructions: MFMA of CDNA, for a wave of 64 lanes, and WMMA of RDNA, for one of 32.

Layouts are those of the instruction set manuals ("Matrix Arithmetic Instructions" of MI200, MI300 and CDNA4,
"Wave Matrix Multiply Accumulate" of RDNA3 and RDNA4), as AMD's matrix instruction calculator states them.
They are square: a *line* is a row of A, a row of B (n×k) or a column of C.  Lane l has line l % lines and is
in *group* l / lines.  A and B lie alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness.codegen.layouts.layout import Layout, lane, vector
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, Registers, swapped

if TYPE_CHECKING:
    from mlir import ir

MFMA_LANES, WMMA_LANES = 64, 32
RUN = 4
"""Rows of C that follow each other in a lane of MFMA, and elements along k in one of WMMA since gfx12."""

WMMA_SIZE = 16

Emit = Callable[["ir.Value", "ir.Value", "ir.Value"], "ir.Value"]
"""Emits one instruction for an operand A, an operand B and an accumulator."""


def _emit_each(
    emit: Emit, pairs: "Sequence[tuple[Registers, Registers]]", accumulator: "ir.Value"
) -> "ir.Value":
    for left, right in pairs:
        for a, b in zip(left, right, strict=True):
            accumulator = emit(a, b, accumulator)
    return accumulator


def _mfma(shape: tuple[int, int, int], a: "ir.Value", b: "ir.Value", accumulator: "ir.Value") -> "ir.Value":
    from mlir.dialects import amdgpu

    m, n, k = shape
    return amdgpu.mfma(m, n, k, a, b, accumulator)


def _wmma(a: "ir.Value", b: "ir.Value", accumulator: "ir.Value") -> "ir.Value":
    from mlir.dialects import amdgpu

    return amdgpu.wmma(WMMA_SIZE, WMMA_SIZE, WMMA_SIZE, a, b, accumulator)


def _pieces(size: int, fragment: "ir.Value") -> "Registers":
    """Return a fragment in the pieces that one instruction takes each, of so many elements."""
    from mlir.dialects import vector as vector_dialect

    count = fragment.type.shape[0]
    if size == 1:
        return tuple(vector_dialect.extract(fragment, [], [number]) for number in range(count))
    if size == count:
        return (fragment,)
    return tuple(
        vector_dialect.extract_strided_slice(_resized(fragment, size), fragment, [start], [size], [1])
        for start in range(0, count, size)
    )


def _resized(fragment: "ir.Value", size: int) -> "ir.Type":
    from mlir import ir

    return ir.VectorType.get([size], fragment.type.element_type)


def _mfma_operand(lines: int, depth: int) -> Layout:
    line, group, run = (
        lane("x", lines),
        lane("y", MFMA_LANES // lines),
        vector("x", depth * lines // MFMA_LANES),
    )
    return Layout(axes=((line,), (group, run)), order=(group, line, run))


def _mfma_accumulator(lines: int) -> Layout:
    """Return the layout of C: of its rows each group of lanes has runs of four."""
    line, group, run = lane("x", lines), lane("y", MFMA_LANES // lines), vector("x", RUN)
    runs = vector("y", lines * lines // MFMA_LANES // RUN)
    return Layout(axes=((runs, group, run), (line,)), order=(group, line, runs, run))


def _mfma_instruction(lines: int, depth: int, operand: str, source: str) -> MatrixInstruction:
    layouts = _mfma_operand(lines, depth), _mfma_accumulator(lines)
    emit = partial(_mfma, (lines, lines, depth))
    return _instruction("mfma.f32", operand, *layouts, source, emit)


def _instruction(
    name: str, operand: str, fragment: Layout, accumulator: Layout, source: str, emit: Emit
) -> MatrixInstruction:
    lines, depth = fragment.shape
    return MatrixInstruction(
        name=f"{name}.{lines}x{lines}x{depth}.{operand}",
        vendor="amd",
        m=lines,
        n=lines,
        k=depth,
        operand=operand,
        accumulator="f32",
        a=fragment,
        b=fragment,
        c=accumulator,
        source=source,
        prepare=partial(_pieces, fragment.registers),
        emit=partial(_emit_each, emit),
    )


LINE, HALF = lane("x", WMMA_SIZE), lane("y", WMMA_LANES // WMMA_SIZE)
WHOLE_DEPTH, HALF_DEPTH = vector("x", WMMA_SIZE), vector("x", WMMA_SIZE // 2)
RUNS, RUN_OF_HALF = vector("y", 2), vector("x", RUN)

REPLICATED_OPERAND = Layout(axes=((LINE,), (WHOLE_DEPTH,)), order=(HALF, LINE, WHOLE_DEPTH))
"""16×16: both halves of the wave hold all of it."""
ALTERNATING_ACCUMULATOR = Layout(axes=((HALF_DEPTH, HALF), (LINE,)), order=(HALF, LINE, HALF_DEPTH))
"""16×16: the halves of the wave take turns along the rows."""
SHARED_OPERAND = Layout(axes=((LINE,), (RUNS, HALF, RUN_OF_HALF)), order=(HALF, LINE, RUNS, RUN_OF_HALF))
"""16×16: the halves of the wave take turns in runs of four along k."""
HALVED_ACCUMULATOR = Layout(axes=((HALF, HALF_DEPTH), (LINE,)), order=(HALF, LINE, HALF_DEPTH))
"""16×16: each half of the wave has half of the rows."""


CDNA = 'MI200 and MI300 ISA, "Matrix Arithmetic Instructions"'
CDNA4 = 'CDNA4 ISA, "Matrix Arithmetic Instructions"'
RDNA3 = "RDNA3 ISA, section 7.9"
RDNA4 = 'RDNA4 ISA, "Wave Matrix Multiply Accumulate"'

HALF_TYPES = ("f16", "bf16")
INSTRUCTIONS = (
    *(_mfma_instruction(16, 16, operand, CDNA) for operand in HALF_TYPES),
    *(_mfma_instruction(32, 8, operand, CDNA) for operand in HALF_TYPES),
    *(_mfma_instruction(16, 32, operand, CDNA4) for operand in HALF_TYPES),
    *(_mfma_instruction(32, 16, operand, CDNA4) for operand in HALF_TYPES),
    *(_mfma_instruction(lines, 64 // lines, "f32", CDNA) for lines in (16, 32)),
    *(
        _instruction("wmma.gfx11.f32", each, REPLICATED_OPERAND, ALTERNATING_ACCUMULATOR, RDNA3, _wmma)
        for each in HALF_TYPES
    ),
    *(
        _instruction("wmma.gfx12.f32", each, SHARED_OPERAND, HALVED_ACCUMULATOR, RDNA4, _wmma)
        for each in HALF_TYPES
    ),
)
"""As the instruction sets state them; accumulators are f32."""


def _chained(instruction: MatrixInstruction, fragment: Layout) -> MatrixInstruction:
    """Return an instruction whose result is the next product's operand A, without an exchange between lanes.

    With A and B exchanged the rows of C lie in lanes as those of A do; `fragment` is an operand whose
    elements along k lie as the columns of C then do.
    """
    depth = fragment.shape[1]
    return replace(swapped(instruction), name=f"{instruction.name}.chained", k=depth, a=fragment, b=fragment)


def _depth_as_left(instruction: MatrixInstruction) -> Layout:
    """Return how an operand of the next product lies, as C leaves its elements where it can.

    Of f32, four instructions take a fragment: one for each of a run.  Of gfx11 the halves of a wave, which
    take turns in C, still exchange what each of them has to have whole.
    """
    if "gfx11" in instruction.name:
        return REPLICATED_OPERAND
    if "gfx12" in instruction.name:
        return HALVED_ACCUMULATOR.transposed()
    group, line, _ = instruction.a.order
    runs, run = vector("y", max(1, instruction.a.registers // RUN)), vector("x", RUN)
    return Layout(axes=((line,), (runs, group, run)), order=(group, line, runs, run))


CHAINED_INSTRUCTIONS = tuple(_chained(each, _depth_as_left(each)) for each in INSTRUCTIONS)
"""As products of which one follows the other take them."""
