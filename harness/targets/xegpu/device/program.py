"""Programs: modules of SPIR-V, compiled for a device by its driver."""

import ctypes

from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu.device.context import Device, one

BUILD_LOG = 0x1183
"""CL_PROGRAM_BUILD_LOG."""
LOG_BYTES = 1 << 20


def built(device: Device, image: bytes, options: str) -> int:
    """Return a program of one module, compiled and linked.

    Raises `DeviceError` with the first line of what the driver's compiler says where it refuses.
    """
    program = device.calls.made("clCreateProgramWithIL", device.context, image, len(image))
    with_log(device, program, "clBuildProgram", program, 1, one(device.handle), options.encode(), None, None)
    return program


def with_log(device: Device, program: int, function: str, *arguments: object) -> None:
    """Call what compiles a program; its error says what the compiler says."""
    try:
        device.calls.call(function, *arguments)
    except DeviceError as error:
        raise DeviceError(f"{error}{said(device, program)}") from error


def said(device: Device, program: int) -> str:
    """Return the first line that a compiler says of a program, after a colon; nothing where it is silent."""
    log = ctypes.create_string_buffer(LOG_BYTES)
    given = program, device.handle, BUILD_LOG, len(log), log, None
    try:
        device.calls.call("clGetProgramBuildInfo", *given)
    except DeviceError:
        return ""
    lines = [line.strip() for line in log.value.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return "".join(f": {line}" for line in (telling or lines)[:1])
