"""Intel's matrix instruction: dpas, for a sub-group of 16 lanes.

Layouts are those of SPV_INTEL_subgroup_matrix_multiply_accumulate, "Mapping Matrix Data to Invocations".
Lane l has column l of A and of C, and row l of B (n×k): the columns of C lie as those of A do, so that a
result is the next product's operand A as it is.  Elements of B that are neighbours along k share a register
of 32 bits.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.codegen.layouts.layout import Layout, lane, vector
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, Registers

if TYPE_CHECKING:
    from mlir import ir

LANES = 16
ROWS, DEPTH = 8, 16
"""Of A; of what 16-bit operands are added up along."""

LANE = lane("x", LANES)

COLUMN_OF_LANE = Layout(axes=((vector("x", ROWS),), (LANE,)), order=(LANE, vector("x", ROWS)))
"""A, 8×16, and C, 8×16."""
ROW_OF_LANE = Layout(axes=((LANE,), (vector("x", DEPTH),)), order=(LANE, vector("x", DEPTH)))
"""B, 16×16."""

SOURCE = "SPV_INTEL_subgroup_matrix_multiply_accumulate"


def _whole(fragment: "ir.Value") -> "Registers":
    return (fragment,)


def _dpas(pairs: "Sequence[tuple[Registers, Registers]]", accumulator: "ir.Value") -> "ir.Value":
    from mlir import ir

    for (a,), (b,) in pairs:
        product = ir.Operation.create("xegpu.dpas", results=[accumulator.type], operands=[a, b, accumulator])
        accumulator = product.results[0]
    return accumulator


def _instruction(operand: str) -> MatrixInstruction:
    return MatrixInstruction(
        name=f"dpas.8x16x16.{operand}",
        vendor="intel",
        m=ROWS,
        n=LANES,
        k=DEPTH,
        operand=operand,
        accumulator="f32",
        a=COLUMN_OF_LANE,
        b=ROW_OF_LANE,
        c=COLUMN_OF_LANE,
        source=SOURCE,
        prepare=_whole,
        emit=_dpas,
    )


DPAS_F16, DPAS_BF16 = (_instruction(operand) for operand in ("f16", "bf16"))

INSTRUCTIONS = (DPAS_F16, DPAS_BF16)
"""All that code is generated for; accumulators are f32."""
