"""LLVM's back end for AMD's GPUs, by llvmlite, and the linker that comes with IREE: no ROCm is needed."""

import functools
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

from harness.system.errors import UnsupportedError
from harness.system.processes.programs import run_tool
from harness.system.toolchains import iree
from harness.system.toolchains.host_llvm import parsed

TRIPLE = "amdgcn-amd-amdhsa"
OPTIMIZATION_LEVEL = 3
TIME_LIMIT_S = 60.0
LINKER = "iree-lld"


@functools.cache
def _machine(chip: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=chip, opt=OPTIMIZATION_LEVEL)
    machine.set_asm_verbosity(True)
    return machine


def data_layout(chip: str) -> str:
    """Return LLVM's data layout for a chip."""
    return str(_machine(chip).target_data)


def optimized(llvm_ir: str, chip: str) -> str:
    """Return LLVM IR after LLVM's optimisations for a chip; raises `BuildError` where it is not valid."""
    module = parsed(llvm_ir)
    tuning = llvm.PipelineTuningOptions(speed_level=OPTIMIZATION_LEVEL)
    llvm.create_pass_builder(_machine(chip), tuning).getModulePassManager().run(
        module, llvm.create_pass_builder(_machine(chip), tuning)
    )
    return str(module)


def assembly(llvm_ir: str, chip: str) -> str:
    """Return a chip's assembly, with the metadata of its kernels."""
    return _machine(chip).emit_assembly(parsed(llvm_ir))


def code_object(llvm_ir: str, chip: str) -> bytes:
    """Return machine code as AMD's driver loads it, a shared library; raises `BuildError`."""
    program = iree.tools_folder() / LINKER
    if not program.exists():
        raise UnsupportedError(f"no {LINKER}: {iree.MISSING}")
    object_file = _machine(chip).emit_object(parsed(llvm_ir))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.hsaco")
        source.write_bytes(object_file)
        command = [
            str(program),
            "-flavor",
            "gnu",
            "-shared",
            "--no-undefined",
            str(source),
            "-o",
            str(target),
        ]
        run_tool(command, TIME_LIMIT_S)
        return target.read_bytes()
