"""The device that this process works on, with its context and its queue."""

import ctypes
import functools
from dataclasses import dataclass

from harness.system.errors import UnsupportedError
from harness.system.machine.gpu_probe import (
    IP_VERSION,
    OPENCL_LIBRARY,
    device_number,
    intel_chip,
    intel_gpus,
    opencl_library,
)
from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu.device.calls import Calls

CACHE_BYTES = 0x101E
"""CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: of the last cache before memory."""
CONTEXT_PLATFORM = 0x1084
QUEUE_PROPERTIES, PROFILING = 0x1093, 1 << 1
"""CL_QUEUE_PROPERTIES and CL_QUEUE_PROFILING_ENABLE: events have times; commands go in order."""


@dataclass(frozen=True)
class Device:
    """A device of OpenCL's, with a queue in which its commands go in order."""

    calls: Calls
    handle: int
    cache_bytes: int
    context: int
    queue: int


@functools.cache
def open_gpu(chip: str) -> Device:
    """Make the first of Intel's GPUs that is such a chip this process's own.

    Raises `UnsupportedError` where there is none and `DeviceError` without OpenCL.
    """
    try:
        library = opencl_library()
    except OSError as error:
        raise DeviceError(f"OpenCL is not installed: found no {OPENCL_LIBRARY}") from error
    for platform, handle in intel_gpus(library):
        if intel_chip(device_number(library, handle, IP_VERSION)) == chip:
            return opened(library, platform, handle)
    raise UnsupportedError(f"no device for {chip}")


def opened(library: ctypes.CDLL, platform: int, handle: int) -> Device:
    """Return a device with a context and a queue of its own."""
    calls = Calls(library, platform)
    of_platform = (ctypes.c_ssize_t * 3)(CONTEXT_PLATFORM, platform, 0)
    context = calls.made("clCreateContext", of_platform, 1, one(handle), None, None)
    timed = (ctypes.c_uint64 * 3)(QUEUE_PROPERTIES, PROFILING, 0)
    return Device(
        calls=calls,
        handle=handle,
        cache_bytes=device_number(library, handle, CACHE_BYTES),
        context=context,
        queue=calls.made("clCreateCommandQueueWithProperties", context, handle, timed),
    )


def one(handle: int) -> ctypes.Array[ctypes.c_void_p]:
    """Return an array of one handle, as functions take lists."""
    return (ctypes.c_void_p * 1)(handle)
