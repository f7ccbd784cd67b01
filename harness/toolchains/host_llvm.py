"""LLVM's back end for this machine, through llvmlite and without MLIR, which loading code does not need."""

import functools

import llvmlite.binding as llvm


@functools.cache
def initialize_llvm() -> None:
    """Make LLVM's back end for this machine's architecture known, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
