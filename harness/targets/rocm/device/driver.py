"""HIP, as the executable of GPU kernels asks for it: the device of this process, and calls of the runtime."""

import ctypes
import functools
from pathlib import Path
from typing import Any

from harness.artifact.artifact import Artifact
from harness.system.errors import UnsupportedError
from harness.system.machine.gpu_probe import (
    CHIP_OFFSET,
    HIP_LIBRARIES,
    PROPERTIES_BYTES,
    hip_library,
    text_at,
)
from harness.targets.gpu.driver import DeviceError
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.gpu.streams import StreamApi, StreamDevice, StreamDriver
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.code_object import CODE_OBJECT_FILE
from harness.targets.rocm.device.clocks import amd_clocks

SUCCESS, OUT_OF_MEMORY = 0, 2
"""`hipSuccess` and `hipErrorOutOfMemory`."""

Address = ctypes.c_void_p
Result = ctypes.POINTER(ctypes.c_void_p)
Integer = ctypes.POINTER(ctypes.c_int)
Milliseconds = ctypes.POINTER(ctypes.c_float)
RESULTS = (Result, Integer, Milliseconds)
"""Types of first parameters through which a call gives what it makes."""
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "hipInit": (ctypes.c_uint,),
    "hipGetDeviceCount": (Integer,),
    "hipSetDevice": (ctypes.c_int,),
    "hipDeviceGetAttribute": (Integer, ctypes.c_int, ctypes.c_int),
    "hipDeviceGetPCIBusId": (ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "hipGetDevicePropertiesR0600": (ctypes.c_void_p, ctypes.c_int),
    "hipDeviceSynchronize": (),
    "hipMalloc": (Result, ctypes.c_size_t),
    "hipFree": (Address,),
    "hipMemcpyHtoD": (Address, ctypes.c_void_p, ctypes.c_size_t),
    "hipMemcpyDtoH": (ctypes.c_void_p, Address, ctypes.c_size_t),
    "hipMemsetD8Async": (Address, ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_void_p),
    "hipModuleLoadData": (Result, ctypes.c_char_p),
    "hipModuleGetFunction": (Result, ctypes.c_void_p, ctypes.c_char_p),
    "hipModuleLaunchKernel": (ctypes.c_void_p, *(ctypes.c_uint,) * 7, *(ctypes.c_void_p,) * 3),
    "hipEventCreate": (Result,),
    "hipEventRecord": (ctypes.c_void_p, ctypes.c_void_p),
    "hipEventSynchronize": (ctypes.c_void_p,),
    "hipEventElapsedTime": (Milliseconds, ctypes.c_void_p, ctypes.c_void_p),
    "hipStreamSynchronize": (ctypes.c_void_p,),
}
"""Types of the parameters of each call that is made (HIP Runtime API Reference); all return an error code."""


@functools.cache
def runtime() -> ctypes.CDLL:
    """Return the runtime library; raises `DeviceError` where there is none."""
    try:
        library = hip_library()
    except OSError as error:
        raise DeviceError(f"HIP is not installed: found none of {', '.join(HIP_LIBRARIES)}") from error
    for function, parameters in SIGNATURES.items():
        getattr(library, function).argtypes = parameters
    for function in ("hipGetErrorName", "hipGetErrorString"):
        getattr(library, function).argtypes = (ctypes.c_int,)
        getattr(library, function).restype = ctypes.c_char_p
    return library


def call(function: str, *arguments: object) -> Any:
    """Call the runtime; return what it gives through its first parameter, if it gives anything.

    Raises `MemoryError` where the device has not enough memory, else `DeviceError` with the runtime's words.
    """
    library, parameters = runtime(), SIGNATURES[function]
    result = parameters[0]._type_() if parameters and parameters[0] in RESULTS else None
    places = () if result is None else (ctypes.byref(result),)
    error = getattr(library, function)(*places, *arguments)
    if error == SUCCESS:
        return None if result is None else result.value or 0
    text = f"{library.hipGetErrorName(error).decode()}: {library.hipGetErrorString(error).decode()}"
    if error == OUT_OF_MEMORY:
        raise MemoryError(text)
    raise DeviceError(text)


HIP = StreamApi(
    call=lambda name, *arguments: call(f"hip{name}", *arguments),
    free=lambda address: runtime().hipFree(address),
    allocate="Malloc",
    launch="ModuleLaunchKernel",
    synchronize="DeviceSynchronize",
)


L2_CACHE_SIZE = 19
"""`hipDeviceAttributeL2CacheSize`."""
BUS_BYTES = 32


def open_device(chip: str) -> StreamDevice:
    """Make the first device of a chip this thread's own; raises `UnsupportedError`."""
    device = find_device(chip)
    device.make_current()
    return device


@functools.cache
def find_device(chip: str) -> StreamDevice:
    """Return the first device of a chip; raises `UnsupportedError`.

    Behind the L2 cache some chips have a last-level cache that the runtime does not tell of.
    """
    call("hipInit", 0)
    for ordinal in range(call("hipGetDeviceCount")):
        if _chip_of(ordinal) == chip:
            bus = ctypes.create_string_buffer(BUS_BYTES)
            call("hipDeviceGetPCIBusId", bus, BUS_BYTES, ordinal)
            l2_bytes = call("hipDeviceGetAttribute", L2_CACHE_SIZE, ordinal)
            return StreamDevice(
                api=HIP,
                ordinal=ordinal,
                chip=chip,
                cache_bytes=max(l2_bytes, CHIPS[chip].last_level_cache_bytes),
                make_current=functools.partial(call, "hipSetDevice", ordinal),
                clocks=functools.partial(amd_clocks, bus.value.decode().strip()),
            )
    raise UnsupportedError(f"no device for {chip}")


def _chip_of(ordinal: int) -> str:
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    call("hipGetDevicePropertiesR0600", ctypes.addressof(properties), ordinal)
    return text_at(properties.raw, CHIP_OFFSET).split(":")[0]


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `rocm` onto the first device of its chip."""
    plan = GpuLaunch.model_validate(artifact.launch)
    image = (folder / CODE_OBJECT_FILE).read_bytes()
    driver = StreamDriver(open_device(plan.chip), image, plan.kernels)
    return GpuKernels(artifact.case.problem, plan, driver)
