"""LLVM's back end for SPIR-V, by llvmlite: what drivers of Intel's GPUs compile."""

import functools
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import llvmlite.binding as llvm

from harness.system.errors import BuildError
from harness.system.processes.programs import run_program
from harness.system.toolchains.spirv_ids import defines_each_id_once

TRIPLE = "spirv64-unknown-unknown"
OPTIMIZATION_LEVEL = 0
"""The driver's compiler optimises.  At other levels LLVM 22 joins an `and` of 64 bits and what cuts it to 32
into one operation of both widths, which is not valid."""
ATTEMPTS = 3
"""Emissions in this process, where LLVM's data may come to lie at the same addresses again and again."""
ATTEMPTS_ELSEWHERE = 12
"""Emissions after those, each in a process of its own."""
TIME_LIMIT_S = 120.0
"""Seconds for one of them."""
EMITTER = "harness.system.toolchains.emit_spirv"
EXTENSIONS = ("SPV_INTEL_cache_controls", "SPV_KHR_bfloat16")
"""Those that modules may use, as far as they need them."""

COMPONENTS = (2, 3, 4, 8, 16)
"""Of vectors in kernels (SPIR-V, "Universal Validation Rules"; 8 and 16 with the capability Vector16)."""
DEFINED = re.compile(r"^\s*(%\w+) = ", re.MULTILINE)
VECTOR = re.compile(r"= OpTypeVector %\w+ (\d+)")


Emitted = TypeVar("Emitted", str, bytes)


@dataclass(frozen=True)
class Form(Generic[Emitted]):
    """What a module can be emitted as."""

    name: str
    emit: Callable[[llvm.TargetMachine, llvm.ModuleRef], Emitted]
    is_right: Callable[[Emitted], bool]
    read: Callable[[Path], Emitted]


def _defines_each_name_once(assembly: str) -> bool:
    names = DEFINED.findall(assembly)
    return len(set(names)) == len(names)


TEXT = Form(
    "text", lambda machine, module: machine.emit_assembly(module), _defines_each_name_once, Path.read_text
)
WORDS = Form(
    "words", lambda machine, module: machine.emit_object(module), defines_each_id_once, Path.read_bytes
)


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
    return _emitted(llvm_ir, TEXT)


def binary(llvm_ir: str) -> bytes:
    """Return a module of SPIR-V as drivers take it; raises `BuildError` where LLVM refuses the code.

    LLVM 22 numbers labels by the addresses of its own data, and gives a label the number of a value: about
    once in a hundred times, of some modules every other time.  The code is the same but for that.  So a
    module is emitted until its numbers are right, in the end by processes that have other addresses.
    """
    return _emitted(llvm_ir, WORDS)


def opened(llvm_ir: str) -> tuple[llvm.TargetMachine, llvm.ModuleRef]:
    """Return what emits a module once, and the module; raises `BuildError` where LLVM refuses the code."""
    return _machine(), _parsed(llvm_ir)


def _emitted(llvm_ir: str, form: Form[Emitted]) -> Emitted:
    """Return what is emitted once it is right; what was wrong is kept meanwhile, so that addresses change."""
    kept = []
    for _ in range(ATTEMPTS):
        kept.append(opened(llvm_ir))
        emitted = form.emit(*kept[-1])
        if form.is_right(emitted):
            return emitted
    for _ in range(ATTEMPTS_ELSEWHERE):
        emitted = _emitted_elsewhere(llvm_ir, form)
        if form.is_right(emitted):
            return emitted
    raise BuildError(f"LLVM gave two values of a module one number, {ATTEMPTS + ATTEMPTS_ELSEWHERE} times")


def _emitted_elsewhere(llvm_ir: str, form: Form[Emitted]) -> Emitted:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.ll"), Path(folder, "kernels.spv")
        source.write_text(llvm_ir, encoding="utf-8")
        command = [sys.executable, "-P", "-m", EMITTER, str(source), str(target), form.name]
        try:
            done = run_program(command, TIME_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"emitting SPIR-V took longer than {TIME_LIMIT_S:g} s") from error
        if done.returncode != 0:
            raise BuildError(f"emitting SPIR-V failed: {done.stderr.strip().splitlines()[-1:]}")
        return form.read(target)


def require_valid(assembly: str) -> None:
    """Raise `BuildError` for a vector that kernels cannot have: LLVM emits any, drivers refuse all others."""
    for components in VECTOR.findall(assembly):
        if int(components) not in COMPONENTS:
            raise BuildError(f"a vector of {components} components, which SPIR-V's kernels do not have")


def _parsed(llvm_ir: str) -> llvm.ModuleRef:
    """Return the parsed module: emission changes it, so that each has its own."""
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.verify()
    except RuntimeError as error:
        words = ": ".join(str(error).strip().splitlines()[:2])
        raise BuildError(f"LLVM refuses the code: {words}") from error
    return module
