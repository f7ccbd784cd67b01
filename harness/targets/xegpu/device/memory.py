"""Memory of a device, by its address, as kernels take it (`cl_intel_unified_shared_memory`)."""

import ctypes
import weakref

import numpy as np

from harness.targets.gpu.driver import DeviceError
from harness.targets.xegpu.device.context import Device

ALIGNMENT = 64
"""Bytes that the address of a matrix has to be a multiple of, for messages that move blocks."""
BLOCKING = 1
NO_EVENTS = (0, None, None)


class OpenClMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, device: Device, bytes_: int) -> None:
        """Allocate; what fills it is in the order of the device's queue.  Raises `MemoryError`."""
        self.bytes = bytes_
        self._device = device
        given = device.context, device.handle, None, max(bytes_, 1), ALIGNMENT
        try:
            self.address = device.calls.made("clDeviceMemAllocINTEL", *given)
        except DeviceError as error:  # drivers have several names for it
            raise MemoryError(f"{bytes_} bytes: {error}") from error
        weakref.finalize(self, device.calls.call, "clMemBlockingFreeINTEL", device.context, self.address)

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        self._copy(self.address, array.ctypes.data, array.nbytes)

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the queue."""
        pattern = ctypes.c_ubyte(byte)
        given = ctypes.byref(pattern), ctypes.sizeof(pattern), self.bytes
        self._device.calls.call("clEnqueueMemFillINTEL", self._device.queue, self.address, *given, *NO_EVENTS)

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        self._copy(array.ctypes.data, self.address, array.nbytes)
        return array

    def _copy(self, destination: int, source: int, bytes_: int) -> None:
        given = self._device.queue, BLOCKING, destination, source, bytes_
        self._device.calls.call("clEnqueueMemcpyINTEL", *given, *NO_EVENTS)
