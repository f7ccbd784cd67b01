"""Intel's OpenCL runtime for processors: where its package has put it, and the processor as a device."""

import ctypes
import functools
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from harness.system.machine.gpu_probe import opencl_handles
from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu.device.context import Device, opened
from harness.targets.xegpu.processor import DISTRIBUTIONS, INSTALL

RUNTIME, *_ = DISTRIBUTIONS
LIBRARY = "libintelocl.so"
"""The runtime itself: with one platform known, OpenCL's loader and its list of drivers are not needed."""
PROCESSOR_TYPE = 1 << 1
"""CL_DEVICE_TYPE_CPU."""


def installed_version() -> str | None:
    """Return the version of the runtime; None where a package that it needs is missing."""
    try:
        versions = [version(name) for name in DISTRIBUTIONS]
    except PackageNotFoundError:
        return None
    return versions[0]


@functools.cache
def open_processor() -> Device:
    """Return this machine's processor as a device of OpenCL's; raises `DeviceError`."""
    library = _library()
    for platform in opencl_handles(library.clGetPlatformIDs):
        of_processors = ctypes.c_void_p(platform), ctypes.c_uint64(PROCESSOR_TYPE)
        for handle in opencl_handles(library.clGetDeviceIDs, *of_processors):
            return opened(library, platform, handle)
    raise DeviceError("Intel's OpenCL runtime does not know this processor")


def _library() -> ctypes.CDLL:
    file = _file()
    if file is None:
        raise DeviceError(f"Intel's OpenCL runtime is not installed: install {INSTALL}")
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise DeviceError(f"Intel's OpenCL runtime does not load: {error}") from error


def _file() -> Path | None:
    """Return where the package's own list of files says that the library is."""
    try:
        files = distribution(RUNTIME).files or []
    except PackageNotFoundError:
        return None
    libraries = [Path(str(file.locate())) for file in files if file.name == LIBRARY]
    return next((file for file in libraries if file.exists()), None)
