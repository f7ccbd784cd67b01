"""The fragments of MFMA and WMMA, row and column of a lane's i-th element, from two sources.

AMD's matrix instruction calculator (`matrix_calculator.py --detail-instruction`) states for CDNA 2
and 3, RDNA 3 and 4 which element a register of a lane holds; its GPR_num and GPR_bits are the
element's number here.  The instructions of gfx950, which it does not know, lie by Triton
(`mfmaDotToLinearLayout`, kWidth 8) as the others do, with more elements of a lane.

IREE (`IREEGPUAttrs.cpp`, `getSingleSubgroupLayout`) states for each operand and axis how often a fragment is
repeated (outer), how many lanes lie along it and how far apart (thread, tstrides), and how many elements of
a lane (element).  B is k×n in both.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fragment_tables import Placement


def a_mfma(lines: int, per_lane: int) -> Placement:
    """Calculator: i = lane % lines; k = per_lane · ⌊lane / lines⌋ + element."""
    return lambda lane, element: (lane % lines, per_lane * (lane // lines) + element)


def c_mfma_16(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = 4 · ⌊lane / 16⌋ + GPR % 4; j = lane % 16."""
    return 4 * (lane // 16) + element % 4, lane % 16


def c_mfma_32(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = (8 · ⌊GPR / 4⌋ % 32) + 4 · ⌊lane / 32⌋ + GPR % 4; j = lane % 32."""
    return (8 * (element // 4) % 32) + 4 * (lane // 32) + element % 4, lane % 32


def a_gfx11(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = lane % 16; k = 2 · GPR + half."""
    return lane % 16, element


def c_gfx11(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = 2 · GPR + ⌊lane / 16⌋; j = lane % 16."""
    return 2 * element + lane // 16, lane % 16


def a_gfx12(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = lane % 16; k = 8 · ⌊GPR / 2⌋ + 4 · ⌊lane / 16⌋ + 2 · (GPR % 2) + half."""
    register, half = element // 2, element % 2
    return lane % 16, 8 * (register // 2) + 4 * (lane // 16) + 2 * (register % 2) + half


def c_gfx12(lane: int, element: int) -> tuple[int, int]:
    """Calculator: i = 8 · ⌊lane / 16⌋ + GPR; j = lane % 16."""
    return 8 * (lane // 16) + element, lane % 16


def transposed(placement: Placement) -> Placement:
    """Return the placement of B, which lies as A does, with j for i."""
    return lambda lane, element: placement(lane, element)[::-1]


@dataclass(frozen=True)
class Nested:
    """An operand as IREE states it, each number for rows and for columns."""

    outer: tuple[int, int]
    thread: tuple[int, int]
    strides: tuple[int, int]
    element: tuple[int, int]

    def __call__(self, lane: int, element: int) -> tuple[int, int]:
        """Row and column: registers count row-major, those of one repetition first."""
        repeated, within = divmod(element, self.element[0] * self.element[1])
        outer, inner = divmod(repeated, self.outer[1]), divmod(within, self.element[1])
        row, column = (
            (outer[axis] * self.thread[axis] + self._lane(lane, axis)) * self.element[axis] + inner[axis]
            for axis in range(2)
        )
        return row, column

    def _lane(self, lane: int, axis: int) -> int:
        return lane // self.strides[axis] % self.thread[axis] if self.strides[axis] else 0


def iree_mfma(lines: int, depth: int) -> dict[str, Nested]:
    """IREE: mfmaLhs…xK, mfmaRhsKx…, mfmaAcc…."""
    groups = 64 // lines
    return {
        "A": Nested((1, 1), (lines, groups), (1, lines), (1, depth // groups)),
        "B": Nested((1, 1), (groups, lines), (lines, 1), (depth // groups, 1)),
        "C": Nested((lines // (4 * groups), 1), (groups, lines), (lines, 1), (4, 1)),
    }


IREE_GFX11 = {
    "A": Nested((1, 1), (16, 1), (1, 0), (1, 16)),
    "B": Nested((1, 1), (1, 16), (0, 1), (16, 1)),
    "C": Nested((8, 1), (2, 16), (16, 1), (1, 1)),
}
"""IREE: WMMAR3_F32_16x16x16_F16."""

IREE_GFX12 = {
    "A": Nested((1, 1), (16, 2), (1, 16), (1, 8)),
    "B": Nested((1, 1), (2, 16), (16, 1), (8, 1)),
    "C": Nested((1, 1), (2, 16), (16, 1), (8, 1)),
}
"""IREE: gfx12Wmma16xK.  Its comment says that the hardware takes the elements along k in the order of the
manual, in turns of two registers from each half of the wave, and that A and B agree in either order."""


def lanes_of(name: str) -> int:
    """Return the lanes of a wave that executes an instruction of this name."""
    return 64 if name.startswith("mfma") else 32


CALCULATOR: dict[str, tuple[Placement, Callable[[int, int], tuple[int, int]]]] = {
    "mfma.f32.16x16x4.f32": (a_mfma(16, 1), c_mfma_16),
    "mfma.f32.32x32x2.f32": (a_mfma(32, 1), c_mfma_32),
    "mfma.f32.16x16x16.f16": (a_mfma(16, 4), c_mfma_16),
    "mfma.f32.16x16x16.bf16": (a_mfma(16, 4), c_mfma_16),
    "mfma.f32.32x32x8.f16": (a_mfma(32, 4), c_mfma_32),
    "mfma.f32.32x32x8.bf16": (a_mfma(32, 4), c_mfma_32),
    "mfma.f32.16x16x32.f16": (a_mfma(16, 8), c_mfma_16),
    "mfma.f32.16x16x32.bf16": (a_mfma(16, 8), c_mfma_16),
    "mfma.f32.32x32x16.f16": (a_mfma(32, 8), c_mfma_32),
    "mfma.f32.32x32x16.bf16": (a_mfma(32, 8), c_mfma_32),
    "wmma.gfx11.f32.16x16x16.f16": (a_gfx11, c_gfx11),
    "wmma.gfx11.f32.16x16x16.bf16": (a_gfx11, c_gfx11),
    "wmma.gfx12.f32.16x16x16.f16": (a_gfx12, c_gfx12),
    "wmma.gfx12.f32.16x16x16.bf16": (a_gfx12, c_gfx12),
}
"""A and C of each instruction, by the calculator."""
