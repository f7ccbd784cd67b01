"""Small kernels in LLVM IR, `kernels/*.ll`, with inputs and a reference in float64 for each.

kernel = HAND_WRITTEN["nvidia_transpose"]
run = kernel.run(kernel.compile(), LaunchSettings())
assert run.is_right and run.findings == ()
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.findings import Report
from harness.emulator.launching import Argument, DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel

FOLDER = Path(__file__).parent / "kernels"

Arrays = tuple[np.ndarray, ...]
FLOAT, HALF, INTEGER = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.int32)


@dataclass(frozen=True)
class Run:
    """What a launch left behind."""

    report: Report
    output: np.ndarray
    is_right: bool
    """Whether the output is the reference, within the tolerance."""
    clamps_as_expected: bool
    """Whether hardware would have clamped as many accesses as it should."""


@dataclass(frozen=True)
class HandWritten:
    """A kernel of `kernels/`: it reads some buffers, then writes one, then takes scalars."""

    name: str
    """Of the file."""
    chip: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    inputs: Callable[[np.random.Generator], Arrays]
    reference: Callable[..., np.ndarray]
    """Of the inputs in float64, or as they are where they hold integers."""
    dtype: np.dtype = FLOAT
    scalars: tuple[np.generic, ...] = ()
    tolerance: float = 0.0
    """Largest error, relative to the largest magnitude in the reference; 0: the same bits."""
    clamped_loads: int = 0
    """In one order of lanes and warps."""
    clamped_stores: int = 0

    @property
    def text(self) -> str:
        """The device code."""
        return (FOLDER / f"{self.name}.ll").read_text(encoding="utf-8")

    def compile(self, text: str | None = None) -> LoadedKernel:
        """Compile the kernel, or a changed copy of its text, and load it."""
        code = compile_for_emulator(self.text if text is None else text, device(self.chip))
        (kernel,) = code.load().values()
        return kernel

    def run(self, kernel: LoadedKernel, settings: LaunchSettings) -> Run:
        """Launch on random inputs, always the same ones."""
        inputs = self.inputs(np.random.default_rng(0))
        expected = self.reference(*(_exact(array) for array in inputs))
        read = [DeviceBuffer.of(array, f"input {number}") for number, array in enumerate(inputs)]
        written = DeviceBuffer(expected.size * self.dtype.itemsize, "output")
        arguments: list[Argument] = [*read, written, *self.scalars]
        try:
            report = launch(kernel, self.grid, self.block, arguments, settings=settings)
            output = written.view(self.dtype, expected.shape).copy()
        finally:
            for buffer in (*read, written):
                buffer.free()
        error = np.abs(output.astype(np.float64) - expected).max()
        orders = len(settings.orders)
        clamped = (self.clamped_loads * orders, self.clamped_stores * orders)
        return Run(
            report,
            output,
            is_right=bool(error <= self.tolerance * np.abs(expected).max()),
            clamps_as_expected=(report.clamped_loads, report.clamped_stores) == clamped,
        )


def _exact(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


# ------------------------------------------------------------------ inputs

TOLERANCE = 1e-5
"""Relative; for sums of at most 128 terms in single precision."""


def _normal(*shapes: tuple[int, ...], dtype: np.dtype = FLOAT) -> Callable[[np.random.Generator], Arrays]:
    return lambda random: tuple(random.standard_normal(shape).astype(dtype) for shape in shapes)


def _integers(*shape: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda random: (random.integers(-(2**31), 2**31, shape, INTEGER),)


# ------------------------------------------------------------------ references

SOFTMAX_SCALE = np.float32(0.75)


def _softmax(rows: np.ndarray) -> np.ndarray:
    weights = np.exp2(float(SOFTMAX_SCALE) * rows)
    return weights / weights.sum(axis=-1, keepdims=True)


def _add_neighbours(runs: np.ndarray) -> np.ndarray:
    for _ in range(2):
        runs = runs + 2 * np.roll(runs, -32, axis=-1)
    return runs


def _exchange(runs: np.ndarray) -> np.ndarray:
    lanes = np.arange(32)
    return runs[:, lanes ^ 16][:, lanes ^ 1]


def _sums(rows: np.ndarray) -> np.ndarray:
    return rows.sum(axis=-1)


def _product_transposed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.transpose(0, 2, 1)


# ------------------------------------------------------------------ kernels

MATRICES = _normal((2, 16, 32), (2, 16, 32), dtype=HALF)

_ALL = (
    # name, chip, workgroups, threads of a workgroup
    HandWritten(
        "nvidia_transpose", "sm_80", (3, 2, 1), (16, 16, 1), _normal((32, 48)), np.transpose,
        scalars=(np.int32(32), np.int32(48)),
    ),
    HandWritten(
        "nvidia_block_sum", "sm_80", (3, 1, 1), (128, 1, 1), _normal((3, 128)), _sums, tolerance=TOLERANCE
    ),
    HandWritten(
        "nvidia_matmul", "sm_80", (2, 1, 1), (64, 1, 1), _normal((2, 16, 64), (2, 64, 16), dtype=HALF),
        np.matmul, scalars=(np.int32(64),), tolerance=TOLERANCE,
    ),
    HandWritten(
        "nvidia_online_softmax", "sm_80", (2, 1, 1), (64, 1, 1), _normal((4, 96)), _softmax,
        scalars=(np.int32(96), SOFTMAX_SCALE), tolerance=TOLERANCE,
    ),
    HandWritten(
        "nvidia_named_barriers", "sm_80", (2, 1, 1), (64, 1, 1), _normal((8, 32)),
        lambda runs: np.square(runs)[:, ::-1], scalars=(np.int32(4),), tolerance=TOLERANCE,
    ),
    HandWritten(
        "amd_wave_sum_gfx9", "gfx942", (3, 1, 1), (64, 1, 1), _normal((3, 64)), _sums, tolerance=TOLERANCE
    ),
    HandWritten(
        "amd_wave_maximum_gfx11", "gfx1100", (2, 1, 1), (64, 1, 1), _normal((4, 32)),
        lambda rows: np.broadcast_to(rows.max(axis=-1, keepdims=True), rows.shape),
    ),
    HandWritten(
        "amd_rotation", "gfx942", (2, 1, 1), (128, 1, 1), _integers(4, 64),
        lambda runs: np.roll(runs, -5, axis=-1), INTEGER,
    ),
    *(
        HandWritten(
            name, chip, (2, 1, 1), (threads, 1, 1), MATRICES, _product_transposed, tolerance=TOLERANCE
        )
        for name, chip, threads in (
            ("amd_mfma", "gfx942", 64), ("amd_wmma_gfx11", "gfx1100", 32), ("amd_wmma_gfx12", "gfx1201", 32)
        )
    ),
    HandWritten(
        "amd_buffer_copy", "gfx942", (4, 1, 1), (64, 1, 1), _normal((1003,)), np.positive,
        scalars=(np.int32(1003),), clamped_loads=6, clamped_stores=6,
    ),
    HandWritten(
        "amd_split_barriers", "gfx1201", (2, 1, 1), (128, 1, 1), _normal((2, 128)), _add_neighbours,
        tolerance=TOLERANCE,
    ),
    HandWritten(
        "intel_dpas", "bmg", (3, 1, 1), (16, 1, 1), _normal((20, 32), (32, 32), dtype=HALF),
        lambda a, b: a @ b[:, :16], scalars=(np.int32(20),),
        clamped_loads=2 * 4 * 16, clamped_stores=4 * 16, tolerance=TOLERANCE,
    ),
    HandWritten(
        "intel_sub_group_sum", "bmg", (2, 1, 1), (32, 1, 1), _normal((4, 16)),
        lambda rows: np.broadcast_to(_sums(rows)[:, None], rows.shape), tolerance=TOLERANCE,
    ),
    HandWritten("intel_exchange", "bmg", (2, 1, 1), (32, 1, 1), _integers(2, 32), _exchange, INTEGER),
)  # fmt: skip

HAND_WRITTEN: Mapping[str, HandWritten] = {kernel.name: kernel for kernel in _ALL}
