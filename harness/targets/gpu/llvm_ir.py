"""From a `gpu.module` in the LLVM dialect to LLVM IR."""

from mlir import ir
from mlir.dialects.llvm import translate_module_to_llvmir


def translated(module: ir.Module, triple: str) -> str:
    """Return the contents of a module's `gpu.module` as LLVM IR for a target triple; they are moved out."""
    flat = ir.Module.create()
    for operation in list(module.body.operations[0].regions[0].blocks[0].operations):
        flat.body.append(operation)
    return f'target triple = "{triple}"\n' + translate_module_to_llvmir(flat.operation)
