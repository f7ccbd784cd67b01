"""Retargeted LLVM IR as an x86-64 object file."""

import llvmlite.binding as llvm

from harness.system.errors import BuildError
from harness.system.toolchains.host_llvm import initialize_llvm

CPU = "x86-64-v3"
"""With AVX-512 LLVM 22 aborts on some one-element vectors of bits that device code is full of."""

LEVEL = 0
"""Optimisation: the device's compiler has optimised the code already, and what runs is models and checks, so
that more of it here takes longer than it saves."""


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
    return machine.emit_object(module)
