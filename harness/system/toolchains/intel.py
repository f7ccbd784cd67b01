"""LLVM's back end for SPIR-V, by llvmlite: what drivers of Intel's GPUs compile.

`python -m harness.system.toolchains.intel SOURCE TARGET text|words` emits a module of LLVM IR once.
"""

import functools
import re
import shutil
import sys
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

from harness.system.errors import BuildError
from harness.system.processes.programs import run_tool
from harness.system.toolchains.host_llvm import parsed
from harness.system.toolchains.spirv_words import defined_ids

TRIPLE = "spirv64-unknown-unknown"
OPTIMIZATION_LEVEL = 0
"""The driver's compiler optimises.  At other levels LLVM 22 joins an `and` of 64 bits and what cuts it to 32
into one operation of both widths, which is not valid."""
ATTEMPTS = 3
"""Emissions in this process, where LLVM's data may come to lie at the same addresses again and again."""
ATTEMPTS_ELSEWHERE = 12
"""Emissions after those, each in a process of its own."""
TIME_LIMIT_S = 120.0
EXTENSIONS = ("SPV_INTEL_cache_controls", "SPV_KHR_bfloat16")
"""Those that modules may use, as far as they need them."""

COMPONENTS = (2, 3, 4, 8, 16)
"""Of vectors in kernels (SPIR-V, "Universal Validation Rules"; 8 and 16 with the capability Vector16)."""
VALIDATOR, VALIDATED_VERSION = "spirv-val", "spv1.4"
"""Khronos's validator, and the version that LLVM emits, whose rules modules have to keep."""
DEFINED = re.compile(rb"^\s*(%\w+) = ", re.MULTILINE)
VECTOR = re.compile(r"= OpTypeVector %\w+ (\d+)")
TEXT, WORDS = "text", "words"
"""What a module can be emitted as."""


@functools.cache
def _target() -> llvm.Target:
    llvm.set_option("harness", "-spirv-ext=" + ",".join(f"+{name}" for name in EXTENSIONS))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE)


def _machine() -> llvm.TargetMachine:
    """Return a machine for one module: it keeps what it knows of the types of that one."""
    return _target().create_target_machine(opt=OPTIMIZATION_LEVEL)


def data_layout() -> str:
    """Return LLVM's data layout for SPIR-V."""
    return str(_machine().target_data)


def assembly(llvm_ir: str) -> str:
    """Return a module as the text of SPIR-V's assembly.

    It is emitted besides the module, and may number its values in another way.  As `binary` it is emitted
    until no two values have one number.  Raises `BuildError` where LLVM refuses the code.
    """
    return emitted(llvm_ir, TEXT).decode()


def binary(llvm_ir: str) -> bytes:
    """Return a module of SPIR-V as drivers take it; raises `BuildError` where LLVM refuses the code.

    LLVM 22 numbers labels by the addresses of its own data, and gives a label the number of a value: about
    once in a hundred times, of some modules every other time.  The code is the same but for that.  So a
    module is emitted until its numbers are right, in the end by processes that have other addresses.
    """
    return emitted(llvm_ir, WORDS)


def emitted(llvm_ir: str, form: str) -> bytes:
    """Return what is emitted once it is right; what was wrong is kept meanwhile, so that addresses change."""
    kept = []
    for _ in range(ATTEMPTS):
        kept.append((_machine(), parsed(llvm_ir)))
        module = _emit(*kept[-1], form)
        if defines_each_once(module, form):
            return module
    for _ in range(ATTEMPTS_ELSEWHERE):
        module = _emitted_elsewhere(llvm_ir, form)
        if defines_each_once(module, form):
            return module
    raise BuildError(f"LLVM gave two values of a module one number, {ATTEMPTS + ATTEMPTS_ELSEWHERE} times")


def _emit(machine: llvm.TargetMachine, module: llvm.ModuleRef, form: str) -> bytes:
    return machine.emit_object(module) if form == WORDS else machine.emit_assembly(module).encode()


def defines_each_once(module: bytes, form: str) -> bool:
    """Return whether no two instructions of a module define the same number."""
    numbers: list[object] = [*defined_ids(module)] if form == WORDS else [*DEFINED.findall(module)]
    return len(set(numbers)) == len(numbers)


def _emitted_elsewhere(llvm_ir: str, form: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.ll"), Path(folder, "kernels.spv")
        source.write_text(llvm_ir, encoding="utf-8")
        command = [sys.executable, "-P", "-m", __name__, str(source), str(target), form]
        run_tool(command, TIME_LIMIT_S)
        return target.read_bytes()


def require_valid(assembly: str) -> None:
    """Raise `BuildError` for a vector that kernels cannot have: LLVM emits any, drivers refuse all others."""
    for components in VECTOR.findall(assembly):
        if int(components) not in COMPONENTS:
            raise BuildError(f"a vector of {components} components, which SPIR-V's kernels do not have")


def validate(image: bytes) -> None:
    """Raise `BuildError` with the validator's words for a module that is not valid; do nothing without it."""
    program = shutil.which(VALIDATOR)
    if program is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.spv")
        file.write_bytes(image)
        run_tool([program, "--target-env", VALIDATED_VERSION, str(file)], TIME_LIMIT_S)


def main(source: str, target: str, form: str) -> None:
    """Write a module that is emitted once, whatever its numbers: a new process has other addresses."""
    module = parsed(Path(source).read_text(encoding="utf-8"))
    Path(target).write_bytes(_emit(_machine(), module, form))


if __name__ == "__main__":
    main(*sys.argv[1:])
