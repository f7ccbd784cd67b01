"""LLVM's back end for this machine, through llvmlite and without MLIR, which loading code does not need."""

import functools

import llvmlite.binding as llvm

from harness.system.errors import BuildError


@functools.cache
def initialize_llvm() -> None:
    """Make LLVM's back end for this machine's architecture known, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


def parsed(llvm_ir: str) -> llvm.ModuleRef:
    """Return LLVM IR as a module of its own, which emission may change; `BuildError` where it is wrong."""
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.verify()
    except RuntimeError as error:
        words = ": ".join(str(error).strip().splitlines()[:2])
        raise BuildError(f"LLVM refuses the code: {words}") from error
    return module


def assemble(assembly: str, machine: llvm.TargetMachine) -> bytes:
    """Return the object file of assembly that LLVM wrote for this machine.

    llvmlite has no assembler for files, so the text becomes the inline assembly of a module that has nothing
    else.  That is much faster than generating the code again.
    """
    escaped = assembly.replace("\\", "\\5C").replace('"', "\\22").replace("\t", "\\09")
    lines = [f'module asm "{line}"' for line in escaped.splitlines()]
    module = llvm.parse_assembly("\n".join([f'target triple = "{machine.triple}"', *lines]))
    return machine.emit_object(module)
