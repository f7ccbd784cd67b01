"""Retargeted code as x86-64 object files, and loaded into this process's memory."""

import ctypes
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from harness.emulator.devices import Device
from harness.emulator.native_library import ONE_AT_A_TIME, library
from harness.emulator.retarget.retargeted import REGION, KernelDescription, Retargeted, Site
from harness.emulator.structures import CKernel, CMemoryRange
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


RUNTIME_SYMBOLS = (
    "emulator_load_address",
    "emulator_store_address",
    "emulator_load_elements",
    "emulator_store_elements",
    "emulator_gather",
    "emulator_scatter",
    "emulator_call_lane",
    "emulator_call_collective",
    "buffer_load",
    "buffer_store",
    "__truncsfbf2",
)


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel that can be launched."""

    description: KernelDescription
    structure: CKernel
    sites: tuple[Site, ...]
    keeps: tuple[object, ...] = field(repr=False)
    """What the structure points to."""


def load(retargeted: Retargeted, code: bytes, device: Device) -> dict[str, LoadedKernel]:
    """Load an object file of retargeted code; returns its kernels by name."""
    with ONE_AT_A_TIME:
        runtime = library()
        for name in (*RUNTIME_SYMBOLS, *retargeted.symbols):
            llvm.add_symbol(name, _address(runtime, name))
        runtime.emulator_shared_memory.restype = ctypes.c_void_p
        llvm.add_symbol(REGION, runtime.emulator_shared_memory())
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        constants = (CMemoryRange * len(retargeted.constants))(
            *(
                CMemoryRange(engine.get_global_value_address(name), size)
                for name, size in retargeted.constants.items()
            )
        )
        return {
            kernel.name: _loaded(kernel, engine, constants, device, retargeted.sites)
            for kernel in retargeted.kernels
        }


def _address(runtime: ctypes.CDLL, name: str) -> int:
    """Return where a function of the runtime lies; raises `BuildError` if the library lacks it."""
    function = getattr(runtime, name, None)
    address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        raise BuildError(f"the emulator's library has no {name}")
    return address


def _loaded(
    kernel: KernelDescription,
    engine: llvm.ExecutionEngine,
    constants: "ctypes.Array[CMemoryRange]",
    device: Device,
    sites: tuple[Site, ...],
) -> LoadedKernel:
    arrays = (CMemoryRange * len(kernel.shared_arrays))(
        *(CMemoryRange(array.offset, array.bytes) for array in kernel.shared_arrays)
    )
    argument_bytes = (ctypes.c_uint32 * len(kernel.argument_bytes))(*kernel.argument_bytes)
    structure = CKernel(
        entry=engine.get_function_address(kernel.entry),
        name=kernel.name.encode(),
        warp_size=device.warp_size,
        argument_count=len(kernel.argument_bytes),
        argument_bytes=argument_bytes,
        shared_array_count=len(kernel.shared_arrays),
        shared_arrays=arrays,
        dynamic_offset=-1 if kernel.dynamic_offset is None else kernel.dynamic_offset,
        constant_count=len(constants),
        constants=constants,
    )
    return LoadedKernel(kernel, structure, sites, (engine, arrays, argument_bytes, constants))
