"""The matrix instructions of NVIDIA GPUs: `mma.sync` (PTX ISA 9.2, section 9.7.14.5).

Lane l is in group l / 4, the dimension `lane_y`, and number l % 4 in it, `lane_x`.  Registers of 32 bits hold
two 16-bit elements that are neighbours along k.
"""

from functools import partial
from typing import TYPE_CHECKING

from harness.layouts.layout import Layout, lane, vector
from harness.layouts.matrix_instruction import MatrixInstruction

if TYPE_CHECKING:
    from mlir import ir

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


def _mma_sync(shape: tuple[int, int, int], a: "ir.Value", b: "ir.Value", c: "ir.Value") -> "ir.Value":
    """Emit `nvgpu.mma.sync`, whose fragments have a row for each 32-bit register."""
    from mlir import ir
    from mlir.dialects import nvgpu
    from mlir.dialects import vector as vector_dialect

    def by_register(value: ir.Value, elements: int) -> ir.Value:
        count = value.type.shape[0] // elements
        rows = ir.VectorType.get([count, elements], value.type.element_type)
        return vector_dialect.shape_cast(rows, value)

    is_tf32 = str(a.type.element_type) == "f32"
    width = 1 if is_tf32 else 2
    sizes = ir.ArrayAttr.get([ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size) for size in shape])
    accumulator = by_register(c, 2)
    result = nvgpu.MmaSyncOp(
        by_register(a, width),
        by_register(b, width),
        accumulator,
        sizes,
        tf32Enabled=is_tf32 or None,
        results=[accumulator.type],
    )
    return vector_dialect.shape_cast(c.type, result.result)


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
        emit=partial(_mma_sync, (16, 8, k)),
    )


INSTRUCTIONS = (
    _instruction(16, "f16", A_16_BIT, B_16_BIT, "9.7.14.5.8"),
    _instruction(16, "bf16", A_16_BIT, B_16_BIT, "9.7.14.5.8"),
    _instruction(8, "tf32", A_TF32, B_TF32, "9.7.14.5.7"),
)
"""All that code is generated for, by the type of their operands; accumulators are f32."""
