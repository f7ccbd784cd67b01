"""Retargeted LLVM IR as an x86-64 object file."""

import llvmlite.binding as llvm

from harness.errors import BuildError
from harness.native_llvm import initialize_llvm

CPU = "x86-64-v3"
"""With AVX-512 LLVM 22 aborts on some one-element vectors of bits that device code is full of."""

LEVEL = 1
"""Optimisation: kernels run for milliseconds, so that compiling must not take much longer."""


def target_machine() -> llvm.TargetMachine:
    """Return the code generator for the CPU that the emulator runs on."""
    initialize_llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=CPU, features="", opt=LEVEL, codemodel="jitdefault", jit=True
    )


def object_file(llvm_ir: str) -> bytes:
    """Compile LLVM IR to an object file; raises `BuildError` with LLVM's message."""
    machine = target_machine()
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise BuildError(f"LLVM refuses the retargeted code: {str(error).splitlines()[0]}") from error
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    llvm.create_pass_builder(machine, options).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, options)
    )
    return machine.emit_object(module)
