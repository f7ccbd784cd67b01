"""Memory of the device."""

import weakref

import numpy as np
from cuda.bindings import driver

from harness.targets.cuda.device.calls import checked

DEFAULT_STREAM = 0


class DeviceMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, bytes_: int) -> None:
        """Allocate; raises `MemoryError`."""
        self.bytes = bytes_
        self.address = int(checked(driver.cuMemAlloc(max(bytes_, 1))))
        weakref.finalize(self, driver.cuMemFree, self.address)

    @classmethod
    def of(cls, array: np.ndarray) -> "DeviceMemory":
        """Copy a contiguous array to the device."""
        memory = cls(array.nbytes)
        checked(driver.cuMemcpyHtoD(memory.address, array.ctypes.data, array.nbytes))
        return memory

    def fill(self, byte: int, stream: int = DEFAULT_STREAM) -> None:
        """Set every byte, in the order of the stream."""
        checked(driver.cuMemsetD8Async(self.address, byte, self.bytes, stream))

    def copied(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        checked(driver.cuMemcpyDtoH(array.ctypes.data, self.address, array.nbytes))
        return array
