"""The stub drivers of this process."""

import ctypes
import os

from harness.emulator.native_library import driver_file, library
from harness.system.errors import HarnessError, InputError

LIBRARY_NAMES = {
    "cuda": "libcuda.so",
    "hip": "libamdhip64.so",
    "opencl": "libOpenCL.so.1",
    "nvml": "libnvidia-ml.so.1",
}
"""The names that the dynamic linker is asked for: those of CUDA and HIP as IREE spells them."""

VERSIONED_CUDA = "libcuda.so.1"
"""The name that NVIDIA's Python bindings ask for."""

_stubs: dict[tuple[str, str], "StubDriver"] = {}


class StubDriver:
    """A stub in this process: whoever asks for the driver's library by its name gets it from now on."""

    def __init__(self, driver: str, name: str) -> None:
        """Load the stub of a driver (a name of `LIBRARY_NAMES`).

        Raises `HarnessError` where the real one was first.
        """
        if _is_loaded(name):
            raise HarnessError(f"{name} is in use in this process; use a new one to emulate it")
        library()
        self._library = ctypes.CDLL(str(driver_file(driver, name)))
        self._library.stub_first_failure.restype = ctypes.c_char_p

    def select(self, chip: str) -> None:
        """Be this chip from now on, and forget failures."""
        if self._library.stub_select_chip(chip.encode()) != 0:
            raise InputError(f"chip {chip!r}: the emulator's drivers do not know it")

    def first_failure(self) -> str | None:
        """Return why a call of the driver failed first since the chip was selected."""
        return self._library.stub_first_failure().decode() or None


def stub(driver: str, name: str | None = None) -> StubDriver:
    """Return this process's stub of a driver, under its usual name or another; loaded once."""
    known_as = name or LIBRARY_NAMES[driver]
    if (driver, known_as) not in _stubs:
        _stubs[driver, known_as] = StubDriver(driver, known_as)
    return _stubs[driver, known_as]


def is_emulated(driver: str) -> bool:
    """Return whether a driver is a stub in this process, and for good."""
    return any(driver == stubbed for stubbed, _ in _stubs)


def _is_loaded(name: str) -> bool:
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True
