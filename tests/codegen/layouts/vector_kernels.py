"""Kernels of a few vector operations, distributed to lanes and executed by the emulator."""

from pathlib import Path

import numpy as np
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.launching import DeviceBuffer, launch
from harness.problem.dtypes import numpy_dtype
from harness.targets.cuda.vendor import SHARED_MEMORY, nvidia_vendor
from harness.targets.gpu.kernel_build import KernelBuild
from harness.targets.gpu.pipeline import to_llvm_ir
from harness.targets.lowering.stage_recorder import StageRecorder

NAMES = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "bf16": numpy_dtype("bf16")}

PRELUDE = """
#rows_depth = affine_map<(m, n, k) -> (m, k)>
#columns_depth = affine_map<(m, n, k) -> (n, k)>
#depth_columns = affine_map<(m, n, k) -> (k, n)>
#rows_columns = affine_map<(m, n, k) -> (m, n)>
"""


def run_kernel(
    body: str,
    inputs: list[np.ndarray],
    output: np.ndarray,
    *,
    warps: int = 1,
    matrix: str = "mma.sync.m16n8k16",
    folder: Path,
) -> tuple[np.ndarray, dict[str, str]]:
    """Run a kernel once and return its output and the text of each stage.

    `body` is the body of a function of the memrefs `%in0`, `%in1` … and `%out`; the emulator finds nothing.
    """
    arguments = [f"%in{number}: {_memref(array)}" for number, array in enumerate(inputs)]
    function = (
        f"func.func @kernel({', '.join([*arguments, f'%out: {_memref(output)}'])}) {{\n{body}\nreturn\n}}"
    )
    tiling = WarpTiling(instruction(matrix), warps, SHARED_MEMORY)
    vendor = nvidia_vendor("sm_80")
    stages = [stage for stage in to_llvm_ir(vendor) if stage.name not in ("vectorized", "bufferized")]
    recorder = StageRecorder(folder, stages)
    with mlir_context():
        build = KernelBuild(ir.Module.parse(PRELUDE + function), vendor, tiling)
        recorder.run_all(stages, build)
    code = compile_for_emulator(build.llvm_ir, device("sm_80"))
    read = [DeviceBuffer.of(array, f"in{number}") for number, array in enumerate(inputs)]
    written = DeviceBuffer(output.nbytes, "out")
    (shape,) = build.shapes
    report = launch(
        code.load()["kernel"],
        (shape.grid, 1, 1),
        (shape.threads, 1, 1),
        [*read, written],
        shared_bytes=shape.shared_bytes,
    )
    assert not report.findings, report.findings
    result = written.view(output.dtype, output.shape).copy()
    for buffer in (*read, written):
        buffer.free()
    texts = {name: (folder / file).read_text() for name, file in recorder.files.items()}
    return result, texts


def _memref(array: np.ndarray) -> str:
    name = next(name for name, dtype in NAMES.items() if dtype == array.dtype)
    return f"memref<{'x'.join(map(str, array.shape))}x{name}>"
