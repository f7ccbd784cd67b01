"""Every file `gpu/*.mlir`: its kernels as PTX meet its CHECK lines.

The first line is `// WARPS: number`.  The kernels are functions of vectors on buffers, as after the stage
`matrix-operands`.
"""

from pathlib import Path

import pytest
from codegen.payloads.ir_checks import check_ir
from codegen.payloads.ir_files import files_in, first_line
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.targets.cuda.lowering import EMISSION
from harness.targets.cuda.vendor import SHARED_MEMORY, nvidia_vendor
from harness.targets.gpu.kernel_build import KernelBuild
from harness.targets.gpu.pipeline import to_llvm_ir
from harness.targets.lowering.buffers import describe_buffers
from harness.targets.lowering.stage_recorder import StageRecorder

FILES = files_in(Path(__file__).parent / "gpu")
DONE = ("vectorized", "bufferized", "matrix-operands")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ptx_meets_the_checks_of_the_file(path: Path, tmp_path: Path) -> None:
    (warps,) = map(int, first_line(path, "WARPS"))
    text, vendor = path.read_text(), nvidia_vendor("sm_80")
    lowering = [stage for stage in to_llvm_ir(vendor) if stage.name not in DONE]
    emission = [stage for stage in EMISSION if stage.name == "assembly"]
    recorder = StageRecorder(tmp_path, [*lowering, *emission])
    with mlir_context():
        module = ir.Module.parse(text)
        tiling = WarpTiling(vendor.matrix_instructions["f16"], warps, SHARED_MEMORY)
        build = KernelBuild(module, vendor, tiling)
        build.buffers = [describe_buffers(function) for function in module.body.operations]
        recorder.run_all([*lowering, *emission], build)
    check_ir(build.assembly, text)
