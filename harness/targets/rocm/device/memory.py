"""Memory of the device."""

import weakref

import numpy as np

from harness.targets.rocm.device.calls import call, made, runtime

DEFAULT_STREAM = 0


class HipMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, bytes_: int) -> None:
        """Allocate; what fills it is in the order of the default stream.  Raises `MemoryError`."""
        self.bytes = bytes_
        self.address = made("hipMalloc", max(bytes_, 1))
        weakref.finalize(self, runtime().hipFree, self.address)

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        call("hipMemcpyHtoD", self.address, array.ctypes.data, array.nbytes)

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the stream."""
        call("hipMemsetD8Async", self.address, byte, self.bytes, DEFAULT_STREAM)

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        call("hipMemcpyDtoH", array.ctypes.data, self.address, array.nbytes)
        return array
