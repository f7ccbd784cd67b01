"""The stage `llvm-ir`: from a `gpu.module` in the LLVM dialect to LLVM IR."""

from collections.abc import Callable

from mlir import ir
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import KernelBuild


def to_llvm_ir(triple: str, data_layout: Callable[[str], str] | None = None) -> Stage:
    """Return the stage for a target triple, with the data layout of a chip where there is one."""

    def run(build: KernelBuild) -> str:
        flat = ir.Module.create()
        for operation in list(build.module.body.operations[0].regions[0].blocks[0].operations):
            flat.body.append(operation)
        layout = "" if data_layout is None else f'target datalayout = "{data_layout(build.vendor.chip)}"\n'
        header = f'{layout}target triple = "{triple}"\n'
        build.llvm_ir = header + translate_module_to_llvmir(flat.operation)
        return build.llvm_ir

    return Stage("llvm-ir", "LLVM IR", run, "ll")
