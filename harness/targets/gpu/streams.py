"""Devices with streams, as CUDA's driver has them and HIP after it: memory, events, launches.

The two differ by the names of some calls and by how a call gives what it makes: `StreamApi` says that.
"""

import ctypes
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.driver import Driver, Enqueue
from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer
from harness.targets.gpu.launch import GpuKernel

DEFAULT_STREAM = 0
MILLISECOND = 1e-3


@dataclass(frozen=True)
class StreamApi:
    """The calls of a driver, each by its name without the driver's prefix, such as `EventRecord`."""

    call: Callable[..., Any]
    """Calls a function by its name; returns what it makes.  Raises `MemoryError` or `DeviceError`."""
    free: Callable[[int], object]
    """Frees memory by its address and raises nothing."""
    allocate: str
    launch: str
    synchronize: str
    event_flags: tuple[object, ...] = ()


@dataclass(frozen=True)
class StreamDevice:
    """A device in this process."""

    api: StreamApi
    ordinal: int
    chip: str
    """Its own chip, `sm_90` or `gfx942`, without a suffix or features."""
    cache_bytes: int
    """Of its last-level cache."""
    make_current: Callable[[], object]
    """Lets what a thread asks of the driver be for this device: each thread has a setting of its own."""
    clocks: Callable[[], Clocks]

    def timer(self, stream: int = DEFAULT_STREAM) -> EventTimer:
        """Return a timer of what is enqueued on a stream."""
        caches = StreamMemory(self.api, FLUSHED_CACHES * max(self.cache_bytes, 1), stream)
        return EventTimer(StreamEvents(self.api, stream), caches, self.clocks())


class StreamMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, api: StreamApi, bytes_: int, stream: int = DEFAULT_STREAM) -> None:
        """Allocate; what fills it is in the order of the stream.  Raises `MemoryError`."""
        self.bytes = bytes_
        self.address = int(api.call(api.allocate, max(bytes_, 1)))
        self._api = api
        self._stream = stream
        weakref.finalize(self, api.free, self.address)

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        self._api.call("MemcpyHtoD", self.address, array.ctypes.data, array.nbytes)

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the stream."""
        self._api.call("MemsetD8Async", self.address, byte, self.bytes, self._stream)

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        self._api.call("MemcpyDtoH", array.ctypes.data, self.address, array.nbytes)
        return array


class StreamEvents:
    """Events on one stream."""

    def __init__(self, api: StreamApi, stream: int) -> None:
        self._call = api.call
        self._flags = api.event_flags
        self._stream = stream

    def create(self) -> Any:
        """Return an event that measures time."""
        return self._call("EventCreate", *self._flags)

    def record(self, event: Any) -> None:
        """Enqueue an event."""
        self._call("EventRecord", event, self._stream)

    def wait(self, event: Any) -> None:
        """Wait until an event was reached."""
        self._call("EventSynchronize", event)

    def seconds_between(self, start: Any, end: Any) -> float:
        """Return the time between two events."""
        return float(self._call("EventElapsedTime", start, end)) * MILLISECOND

    def synchronize(self) -> None:
        """Wait until the stream is empty."""
        self._call("StreamSynchronize", self._stream)


class StreamDriver(Driver):
    """Runs the kernels of one image on a device."""

    def __init__(
        self, device: StreamDevice, image: bytes, kernels: Sequence[GpuKernel], stream: int = DEFAULT_STREAM
    ) -> None:
        """Load the image and find its kernels; raises `DeviceError` where the driver refuses one."""
        self.device = device
        self.stream = stream
        self._api = device.api
        self._module = device.api.call("ModuleLoadData", image)
        self.functions = {
            kernel.name: device.api.call("ModuleGetFunction", self._module, kernel.name.encode())
            for kernel in kernels
        }

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> StreamMemory:
        """Return memory of the device."""
        return StreamMemory(self._api, bytes_)

    def prepare(self, kernel: GpuKernel, arguments: Sequence[StreamMemory]) -> Enqueue:
        """Return what launches a kernel on the driver's stream, which waits for copies and they for it."""
        addresses = [*(memory.address for memory in arguments), *[0] * kernel.null_arguments]
        return partial(self._launch, kernel, _PackedArguments(addresses))

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        self._api.call(self._api.synchronize)

    def turn(self) -> AbstractContextManager[object]:
        """Make the device this thread's own."""
        self.device.make_current()
        return nullcontext()

    def timer(self) -> EventTimer:
        """Return a timer by events on the stream of the kernels."""
        return self.device.timer(self.stream)

    def _launch(self, kernel: GpuKernel, arguments: "_PackedArguments") -> None:
        grid, block = (kernel.grid, 1, 1), (kernel.threads, 1, 1)
        launch = (*grid, *block, kernel.shared_bytes, self.stream, arguments.address, 0)
        self._api.call(self._api.launch, self.functions[kernel.name], *launch)


class _PackedArguments:
    """The addresses of a kernel's buffers, and the address of each of these, as a launch takes them."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = (ctypes.c_void_p * len(values))(*values)
        first, size = ctypes.addressof(self._values), ctypes.sizeof(ctypes.c_void_p)
        self._addresses = (ctypes.c_void_p * len(values))(*(first + size * at for at in range(len(values))))
        self.address = ctypes.addressof(self._addresses)
