"""Memory of the device."""

import weakref

import numpy as np
from cuda.bindings import driver

from harness.targets.cuda.device.calls import checked

DEFAULT_STREAM = 0


class CudaMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, bytes_: int, stream: int = DEFAULT_STREAM) -> None:
        """Allocate; what fills it is in the order of the stream.  Raises `MemoryError`."""
        self.bytes = bytes_
        self.address = int(checked(driver.cuMemAlloc(max(bytes_, 1))))
        self._stream = stream
        weakref.finalize(self, driver.cuMemFree, self.address)

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        checked(driver.cuMemcpyHtoD(self.address, array.ctypes.data, array.nbytes))

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the stream."""
        checked(driver.cuMemsetD8Async(self.address, byte, self.bytes, self._stream))

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        checked(driver.cuMemcpyDtoH(array.ctypes.data, self.address, array.nbytes))
        return array
