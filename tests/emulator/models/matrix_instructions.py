"""The matrix instructions of all vendors: who holds which element, and calls of their models.

Sources of the tables: `tests/nvidia_fragments.py`, `tests/amd_fragments.py`, and for Intel
SPV_INTEL_subgroup_matrix_multiply_accumulate, "Mapping Matrix Data to Invocations", for a sub-group of 16.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import amd_fragments as amd
import ml_dtypes
import numpy as np
import nvidia_fragments as nvidia
from fragment_tables import Placement, lane_table
from model_calls import Argument, Call, ModelLibrary

from harness.emulator.models.intel import ROWS

F16, BF16, F32 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
NAMES = {F16: "f16", BF16: "bf16", F32: "f32"}

Packing = Callable[[np.ndarray], list[Argument]]


def whole(held: np.ndarray) -> list[Argument]:
    """Pass a lane's elements as one argument."""
    return [held]


def in_registers(held: np.ndarray) -> list[Argument]:
    """Pass a lane's elements as arguments of 32 bits each."""
    words = np.ascontiguousarray(held).view(np.uint32)
    return [words[:, register].copy() for register in range(words.shape[1])]


@dataclass(frozen=True)
class Operand:
    """A matrix spread over the lanes of a warp."""

    rows: int
    columns: int
    dtype: np.dtype
    owner: Placement
    elements: int
    """Of a lane, used or not."""
    pack: Packing = whole
    is_tf32: bool = False

    def places(self, lanes: int) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the (row, column) of each (lane, element) that is in the matrix."""
        slots = {(lane, i): self.owner(lane, i) for lane in range(lanes) for i in range(self.elements)}
        return {
            slot: (r, c) for slot, (r, c) in slots.items() if 0 <= r < self.rows and 0 <= c < self.columns
        }

    def scatter(self, matrix: np.ndarray, lanes: int, filler: float) -> np.ndarray:
        """Return the elements that each lane holds, [lanes, elements]."""
        held = np.full((lanes, self.elements), filler).astype(self.dtype)
        for slot, place in self.places(lanes).items():
            held[slot] = matrix[place]
        return held

    def gather(self, held: np.ndarray) -> np.ndarray:
        """Return the matrix that the lanes hold."""
        matrix = np.zeros((self.rows, self.columns), self.dtype)
        for slot, place in self.places(len(held)).items():
            matrix[place] = held[slot]
        return matrix

    def table(self, letter: str, lanes: int) -> str:
        """Return which lane holds which element."""
        places = self.places(lanes)
        return lane_table(
            lambda lane, i: places.get((lane, i), (self.rows, 0)),
            self.rows + 1,
            self.columns,
            lanes,
            self.elements,
            letter,
        )


@dataclass(frozen=True)
class MatrixInstruction:
    """D = A · B + C by one warp; C and D are spread alike."""

    vendor: str
    symbol: str
    lanes: int
    a: Operand
    b: Operand
    c: Operand
    more: tuple[Argument, ...] = ()
    flushes: bool = field(default=False, kw_only=True)
    """Whether subnormal numbers are 0."""
    products_at_once: int = field(default=1, kw_only=True)
    """How many products are added to one another before they are added to the accumulator."""

    def __str__(self) -> str:
        return self.symbol

    def call(
        self,
        models: Callable[[str], ModelLibrary],
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        *,
        filler: float | None = None,
        more: tuple[Argument, ...] | None = None,
        **options: int,
    ) -> Call:
        """Multiply matrices; the value is each lane's part of D, [lanes, elements]."""
        spread = [
            operand.scatter(matrix, self.lanes, np.nan if filler is None else filler)
            for operand, matrix in ((self.a, a), (self.b, b), (self.c, c))
        ]
        return self.call_spread(models, spread, more=more, **options)

    def call_spread(
        self,
        models: Callable[[str], ModelLibrary],
        spread: list[np.ndarray],
        *,
        more: tuple[Argument, ...] | None = None,
        **options: int,
    ) -> Call:
        """Call the model with operands that are spread over the lanes already."""
        parts = zip((self.a, self.b, self.c), spread, strict=True)
        packed = [argument for operand, held in parts for argument in operand.pack(held)]
        result = np.dtype((self.c.dtype, (self.c.elements,)))
        arguments = [*packed, *(self.more if more is None else more)]
        options = {"warp_size": self.lanes, **options}
        return models(self.vendor).call_collective(self.symbol, arguments, result, **options)

    def product(
        self, models: Callable[[str], ModelLibrary], a: np.ndarray, b: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """Return D, which nothing must be reported about."""
        call = self.call(models, a, b, c)
        assert call.findings == ()
        return self.c.gather(call.value)

    def first_result(
        self, models: Callable[[str], ModelLibrary], row: list[float], column: list[float], start: float = 0
    ) -> float:
        """Return D[0][0] where the first row of A and the first column of B begin so, and all else is 0."""
        a, b, c = (np.zeros((operand.rows, operand.columns)) for operand in (self.a, self.b, self.c))
        a[0, : len(row)], b[: len(column), 0], c[0, 0] = row, column, start
        return float(self.product(models, a, b, c)[0, 0])

    def tables(self) -> str:
        """Return which lane holds which element of A, B and C."""
        operands = {"A": self.a, "B": self.b, "C": self.c}
        return "\n".join(f"{letter}:\n{held.table(letter, self.lanes)}" for letter, held in operands.items())


# ------------------------------------------------------------------ NVIDIA


def mma(
    k: int, element: np.dtype, accumulator: np.dtype, a: Placement, b: Placement, kind: str = ""
) -> MatrixInstruction:
    tf32 = element == F32
    return MatrixInstruction(
        "nvidia",
        f"nvvm_mma_m16n8k{k}_{kind or NAMES[element]}",
        32,
        Operand(16, k, element, a, k // 2, in_registers, tf32),
        Operand(k, 8, element, b, k // 4, in_registers, tf32),
        Operand(16, 8, accumulator, nvidia.accumulator, 4, in_registers),
    )


NVIDIA = [
    mma(16, F16, F32, nvidia.a_k16, nvidia.b_k16, "f16_f32"),
    mma(16, F16, F16, nvidia.a_k16, nvidia.b_k16, "f16_f16"),
    mma(16, BF16, F32, nvidia.a_k16, nvidia.b_k16),
    mma(8, F16, F32, nvidia.a_k8, nvidia.b_k8, "f16_f32"),
    mma(8, F16, F16, nvidia.a_k8, nvidia.b_k8, "f16_f16"),
    mma(8, BF16, F32, nvidia.a_k8, nvidia.b_k8),
    mma(8, F32, F32, nvidia.a_k8_tf32, nvidia.b_k8_tf32, "tf32"),
    mma(4, F32, F32, nvidia.a_k4_tf32, nvidia.b_k4_tf32, "tf32"),
]

# ------------------------------------------------------------------ AMD


def mfma(size: int, depth: int, dtype: np.dtype, *, gfx90a: bool = False) -> MatrixInstruction:
    """Return the instruction for C of size×size, of gfx90a where that has a model of its own."""
    per_lane = depth * size // 64
    a = amd.a_mfma(size, per_lane)
    none = np.int32(0)
    return MatrixInstruction(
        "amd",
        f"amdgcn_mfma_{'gfx90a_' if gfx90a else ''}f32_{size}x{size}x{depth}_{NAMES[dtype]}",
        64,
        Operand(size, depth, dtype, a, per_lane),
        Operand(depth, size, dtype, amd.transposed(a), per_lane),
        Operand(size, size, F32, amd.c_mfma_16 if size == 16 else amd.c_mfma_32, size * size // 64),
        (none, none, none),
        flushes=gfx90a,
        products_at_once=per_lane if gfx90a else 1,
    )


def gfx11(dtype: np.dtype) -> MatrixInstruction:
    return MatrixInstruction(
        "amd",
        f"amdgcn_wmma_gfx11_f32_{NAMES[dtype]}",
        32,
        Operand(16, 16, dtype, amd.a_gfx11, 16),
        Operand(16, 16, dtype, amd.transposed(amd.a_gfx11), 16),
        Operand(16, 16, F32, amd.c_gfx11, 8),
    )


def gfx12(dtype: np.dtype) -> MatrixInstruction:
    return MatrixInstruction(
        "amd",
        f"amdgcn_wmma_gfx12_f32_{NAMES[dtype]}",
        32,
        Operand(16, 16, dtype, amd.a_gfx12, 8),
        Operand(16, 16, dtype, amd.transposed(amd.a_gfx12), 8),
        Operand(16, 16, F32, amd.c_gfx12, 8),
    )


MFMA_SHAPES = {F32: [(16, 4), (32, 2)], F16: [(16, 16), (32, 8), (16, 32), (32, 16)]}
MFMA = [
    *(mfma(size, depth, F32) for size, depth in MFMA_SHAPES[F32]),
    *(mfma(size, depth, dtype) for dtype in (F16, BF16) for size, depth in MFMA_SHAPES[F16]),
    *(mfma(size, depth, dtype, gfx90a=True) for dtype in (F16, BF16) for size, depth in MFMA_SHAPES[F16][:2]),
    *(mfma(size, depth, BF16, gfx90a=True) for size, depth in ((16, 8), (32, 4))),
]
GFX11 = [gfx11(F16), gfx11(BF16)]
GFX12 = [gfx12(F16), gfx12(BF16)]

# ------------------------------------------------------------------ Intel


def dpas(dtype: np.dtype) -> MatrixInstruction:
    return MatrixInstruction(
        "intel",
        f"intel_dpas_{NAMES[dtype]}",
        16,
        Operand(ROWS, 16, dtype, lambda lane, element: (element, lane), ROWS),
        Operand(16, 16, dtype, lambda lane, element: (element, lane), 16),
        Operand(ROWS, 16, F32, lambda lane, element: (element, lane), ROWS),
        (np.int32(ROWS),),
        products_at_once=2,
    )


DPAS = [dpas(F16), dpas(BF16)]

INSTRUCTIONS = [*NVIDIA, *MFMA, *GFX11, *GFX12, *DPAS]
