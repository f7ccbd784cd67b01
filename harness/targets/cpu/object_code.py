"""The stages `llvm-ir`, `assembly` and `object`: machine code through llvmlite."""

import ctypes
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from mlir import ir
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.system.errors import BuildError
from harness.system.toolchains.host_llvm import assemble, initialize_llvm
from harness.targets.cpu.chip import Chip, chip
from harness.targets.object_files import code_bytes


@dataclass(frozen=True)
class ObjectCode:
    """Relocatable machine code and what is known of it."""

    object_file: bytes
    assembly: str
    code_bytes: int
    spills: int
    """Vector registers that the code stores on the stack, counted in the text; no kernel has arrays there."""


def emit_llvm_ir(module: ir.Module) -> str:
    """Translate a module in the LLVM dialect to LLVM IR."""
    return translate_module_to_llvmir(module.operation)


def target_machine(target: Chip) -> llvm.TargetMachine:
    """Return LLVM's code generator for a chip."""
    initialize_llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.llvm_cpu, features=target.llvm_features, opt=3, codemodel="jitdefault", jit=True
    )


def compiled_here(text: str, name: str, *types: Any) -> Callable[..., Any]:
    """Return a function compiled for this machine; `types` are those of its result and arguments."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), target_machine(chip("host")))
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(*types)(engine.get_function_address(name))
    function.engine = engine  # type: ignore[attr-defined]  # it owns the code
    return function


def library_calls(assembly: str) -> list[str]:
    """Return the functions outside the module that x86-64 assembly in the large code model calls."""
    return sorted(set(re.findall(r"movabsq\s+\$([A-Za-z_]\w*)", assembly)))


def spills(assembly: str) -> int:
    """Return how many vector registers x86-64 assembly stores on the stack."""
    return len(re.findall(r"^\s*v?mov[a-z0-9]+\s+%[xyz]mm\d+, -?\d*\(%r[sb]p\)", assembly, re.MULTILINE))


def emit_object(llvm_ir: str, target: Chip, provided: Collection[str] = ()) -> ObjectCode:
    """Optimise LLVM IR for a chip; the object file is what assembling the text gives.

    `provided` are functions that its loader brings.
    """
    machine = target_machine(target)
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.verify()
    except RuntimeError as error:
        raise BuildError(f"LLVM refuses the IR: {str(error).splitlines()[0]}") from error
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    assembly = machine.emit_assembly(module)
    this_process = ctypes.CDLL(None)
    called = [name for name in library_calls(assembly) if name not in provided]
    missing = [name for name in called if not hasattr(this_process, name)]
    if missing:
        raise BuildError(f"the machine code calls {', '.join(missing)}, which is not in this process")
    object_file = assemble(assembly, machine)
    return ObjectCode(object_file, assembly, code_bytes(object_file), spills(assembly))
