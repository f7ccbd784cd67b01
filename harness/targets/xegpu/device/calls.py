"""Calls of OpenCL's C API whose errors are exceptions."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.targets.gpu.driver import DeviceError

Handle = ctypes.c_void_p
Size = ctypes.c_size_t
Number = ctypes.c_uint
Text = ctypes.c_char_p
Pointer = ctypes.c_void_p
"""To anything: arrays, memory, callbacks."""
Function = Callable[..., Any]
"""Of a library."""

EVENTS = (Number, Pointer, Pointer)
"""Of what is enqueued: how many events it waits for, which, and where its own goes."""

SIGNATURES = {
    "clBuildProgram": (Handle, Number, Pointer, Text, Pointer, Pointer),
    "clCompileProgram": (Handle, Number, Pointer, Text, Number, Pointer, Pointer, Pointer, Pointer),
    "clGetProgramBuildInfo": (Handle, Handle, Number, Size, Pointer, Pointer),
    "clEnqueueNDRangeKernel": (Handle, Handle, Number, Pointer, Pointer, Pointer, *EVENTS),
    "clEnqueueMarkerWithWaitList": (Handle, *EVENTS),
    "clWaitForEvents": (Number, Pointer),
    "clGetEventProfilingInfo": (Handle, Number, Size, Pointer, Pointer),
    "clReleaseEvent": (Handle,),
    "clReleaseKernel": (Handle,),
    "clReleaseProgram": (Handle,),
    "clFinish": (Handle,),
    "clMemBlockingFreeINTEL": (Handle, Pointer),
    "clEnqueueMemcpyINTEL": (Handle, Number, Pointer, Pointer, Size, *EVENTS),
    "clEnqueueMemFillINTEL": (Handle, Pointer, Pointer, Size, Size, *EVENTS),
    "clSetKernelArgMemPointerINTEL": (Handle, Number, Pointer),
}
"""Types of the parameters of each call that returns an error code (OpenCL 3.0 Reference Pages)."""

CONSTRUCTORS = {
    "clCreateContext": (Pointer, Number, Pointer, Pointer, Pointer),
    "clCreateCommandQueueWithProperties": (Handle, Handle, Pointer),
    "clCreateProgramWithIL": (Handle, Text, Size),
    "clCreateProgramWithSource": (Handle, Number, Pointer, Pointer),
    "clLinkProgram": (Handle, Number, Pointer, Text, Number, Pointer, Pointer, Pointer),
    "clCreateKernel": (Handle, Text),
    "clDeviceMemAllocINTEL": (Handle, Handle, Pointer, Size, Number),
}
"""The same of calls that return what they make, and the error code through one more parameter, the last."""

OF_EXTENSION = "INTEL"
"""Ends the names of functions of `cl_intel_unified_shared_memory`; a driver tells where these are."""

SUCCESS = 0
OUT_OF_MEMORY = frozenset((-4, -6))
"""CL_MEM_OBJECT_ALLOCATION_FAILURE and CL_OUT_OF_HOST_MEMORY."""


@dataclass(frozen=True)
class Calls:
    """The functions of one platform: OpenCL's own in a library, and those of an extension."""

    library: ctypes.CDLL
    platform: int
    _found: dict[str, Function] = field(default_factory=dict)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that returns an error code.

        Raises `MemoryError` where there is not enough memory, else `DeviceError` with the error's number.
        """
        _require_success(name, self._function(name)(*arguments))

    def made(self, name: str, *arguments: object) -> int:
        """Call a function for the handle, or the address, of what it makes; raises as `call` does."""
        error = ctypes.c_int()
        made = self._function(name)(*arguments, ctypes.byref(error))
        _require_success(name, error.value)
        return made or 0

    def _function(self, name: str) -> Function:
        if name not in self._found:
            place = self.address(name) if name.endswith(OF_EXTENSION) else (name, self.library)
            if name in CONSTRUCTORS:
                self._found[name] = ctypes.CFUNCTYPE(Handle, *CONSTRUCTORS[name], Pointer)(place)
            else:
                self._found[name] = ctypes.CFUNCTYPE(ctypes.c_int, *SIGNATURES[name])(place)
        return self._found[name]

    def address(self, name: str) -> int:
        """Return where the driver has a function of an extension; raises `DeviceError` where it has none."""
        find = self.library.clGetExtensionFunctionAddressForPlatform
        find.argtypes, find.restype = (Handle, Text), Pointer
        address: int | None = find(self.platform, name.encode())
        if not address:
            raise DeviceError(f"the OpenCL driver has no {name}, of cl_intel_unified_shared_memory")
        return address


def _require_success(name: str, error: int) -> None:
    if error == SUCCESS:
        return
    text = f"{name}: error {error} of OpenCL"
    if error in OUT_OF_MEMORY:
        raise MemoryError(text)
    raise DeviceError(text)
