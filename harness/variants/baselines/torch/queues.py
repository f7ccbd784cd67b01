"""Queues of devices that PyTorch computes on: what waits for them and times what they do."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch

from harness.system.errors import UnsupportedError
from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.driver import Enqueue
from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer
from harness.targets.gpu.streams import MILLISECOND, StreamDevice


class TorchQueue(ABC):
    """The queue of one device in which PyTorch's calls go in order."""

    has_graphs: ClassVar[bool] = False
    """Whether `captured` makes graphs."""

    def __init__(self, device: torch.device, cache_bytes: int) -> None:
        self.device = device
        self.cache_bytes = cache_bytes

    @abstractmethod
    def make_current(self) -> None:
        """Make the device this thread's own."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything in the queue is done."""

    @abstractmethod
    def timer(self) -> EventTimer:
        """Return a timer by events in the queue."""

    def captured(self, work: Enqueue) -> Enqueue:
        """Return what launches, as one graph, all that `work` enqueues."""
        return work

    def caches(self) -> torch.Tensor:
        """Return memory whose filling leaves nothing in the device's last-level cache."""
        bytes_ = FLUSHED_CACHES * max(self.cache_bytes, 1)
        return torch.empty(bytes_, dtype=torch.uint8, device=self.device)


class StreamQueue(TorchQueue):
    """A stream, by names that PyTorch has for CUDA and for HIP alike."""

    has_graphs = True

    def __init__(self, device: StreamDevice) -> None:
        super().__init__(torch.device("cuda", device.ordinal), device.cache_bytes)
        self._device = device

    def make_current(self) -> None:
        """Make the device the driver's for this thread."""
        self._device.make_current()

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.cuda.synchronize()

    def timer(self) -> EventTimer:
        """Return the timer that this harness's own kernels have, on PyTorch's stream."""
        return self._device.timer(torch.cuda.current_stream().cuda_stream)

    def captured(self, work: Enqueue) -> Enqueue:
        """Return the replay of a graph that PyTorch has captured."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        replay: Enqueue = graph.replay
        return replay


class XpuQueue(TorchQueue):
    """A queue of one of Intel's GPUs."""

    def make_current(self) -> None:
        """Make the device PyTorch's for this thread."""
        torch.xpu.set_device(self.device)

    def synchronize(self) -> None:
        """Wait for the device."""
        torch.xpu.synchronize()

    def timer(self) -> EventTimer:
        """Return a timer by PyTorch's own events; nothing here watches the clock."""
        return EventTimer(XpuEvents(), _Caches(self.caches()), Clocks())


class XpuEvents:
    """Events of PyTorch's current queue."""

    def create(self) -> "torch.xpu.Event":
        """Return an event that measures time."""
        return torch.xpu.Event(enable_timing=True)

    def record(self, event: "torch.xpu.Event") -> None:
        """Enqueue an event."""
        event.record()

    def wait(self, event: "torch.xpu.Event") -> None:
        """Wait until an event was reached."""
        event.synchronize()

    def seconds_between(self, start: "torch.xpu.Event", end: "torch.xpu.Event") -> float:
        """Return the time between two events."""
        return float(start.elapsed_time(end)) * MILLISECOND

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        torch.xpu.synchronize()


class _Caches:
    """Memory that is only filled."""

    def __init__(self, memory: torch.Tensor) -> None:
        self._memory = memory

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the queue."""
        self._memory.fill_(byte)


def cuda_queue(chip: str) -> TorchQueue:
    """Open the first of NVIDIA's devices that runs code for a chip; raises `UnsupportedError`."""
    from harness.targets.cuda.device.context import open_device

    _require(torch.cuda.is_available() and torch.version.hip is None, "CUDA")
    return StreamQueue(open_device(chip))


def rocm_queue(chip: str) -> TorchQueue:
    """Open the first of AMD's devices of a chip; raises `UnsupportedError`."""
    from harness.targets.rocm.device.driver import open_device

    _require(torch.cuda.is_available() and torch.version.hip is not None, "ROCm")
    return StreamQueue(open_device(chip))


def xpu_queue(chip: str) -> TorchQueue:
    """Open the first of Intel's GPUs of a chip, by OpenCL's name of it; raises `UnsupportedError`."""
    from harness.system.machine.gpu_probe import NAME, device_text
    from harness.targets.xegpu.device.context import open_gpu

    _require(torch.xpu.is_available(), "XPU")
    device = open_gpu(chip)
    name = device_text(device.calls.library, device.handle, NAME)
    shown = [torch.xpu.get_device_name(ordinal) for ordinal in range(torch.xpu.device_count())]
    if name not in shown:
        raise UnsupportedError(f"PyTorch shows {', '.join(shown) or 'no device'}, and not {name}")
    queue = XpuQueue(torch.device("xpu", shown.index(name)), device.cache_bytes)
    queue.make_current()
    return queue


def _require(is_there: bool, build: str) -> None:
    if not is_there:
        reason = f"PyTorch {torch.__version__} was built without {build}: install a build with it"
        raise UnsupportedError(reason)
