"""Loads and calls the PyTorch baselines on a GPU; imported only in the process that runs them."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.wrapped import WrappedCall, WrappedExecutable
from harness.plugins import name_of
from harness.problem.inputs import Inputs
from harness.system.errors import UnsupportedError
from harness.targets.gpu.driver import CallGraphs
from harness.targets.gpu.event_timer import EventTimer, call_graphs
from harness.variants.baselines.torch import queues
from harness.variants.baselines.torch.calls import TorchExecutable, UnfusedCall, fused_call
from harness.variants.baselines.torch.queues import TorchQueue
from harness.variants.baselines.torch.vendors import VENDORS

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "overrideable": SDPBackend.OVERRIDEABLE,
    "math": SDPBackend.MATH,
}
"""PyTorch's implementations of fused attention, by the names that experiments give them."""

NO_KERNEL = ("No available kernel", "No viable backend")
"""How PyTorch says that a backend does not do a problem."""


def load_fused(artifact: Artifact, folder: Path) -> "OnDevice":
    """Return the executable of `torch`, with the backend that its parameters name, or PyTorch's choice."""
    queue = open_queue(artifact)
    backend = artifact.case.params.get("backend")
    code = TorchExecutable(artifact.case.problem, fused_call, queue.device)
    return OnDevice(code, queue, None if backend is None else str(backend))


def load_unfused(artifact: Artifact, folder: Path) -> "OnDevice":
    """Return the executable of `torch-unfused`."""
    queue = open_queue(artifact)
    return OnDevice(TorchExecutable(artifact.case.problem, UnfusedCall, queue.device), queue)


def open_queue(artifact: Artifact) -> TorchQueue:
    """Open the first device that an artifact's target and chip are for; raises `UnsupportedError`."""
    vendor = VENDORS[name_of(artifact.case.target)]
    queue: TorchQueue = getattr(queues, vendor.queue)(artifact.launch["chip"])
    return queue


class OnDevice(WrappedExecutable):
    """Calls of PyTorch whose tensors are on a device."""

    def __init__(self, code: Executable, queue: TorchQueue, backend: str | None = None) -> None:
        super().__init__(code)
        self.queue = queue
        self.backend = backend

    def bind(self, inputs: Inputs) -> "CallOnDevice":
        """Copy the inputs to the device."""
        return CallOnDevice(self.code.bind(inputs), self.backend, self.queue)

    def turn(self) -> AbstractContextManager[object]:
        """Make the device this thread's own."""
        self.queue.make_current()
        return nullcontext()


class CallOnDevice(WrappedCall):
    """A call that PyTorch enqueues on a device."""

    def __init__(self, call: BoundCall, backend: str | None, queue: TorchQueue) -> None:
        super().__init__(call)
        self._backend = backend
        self._queue = queue
        self._timer: EventTimer | None = None
        self._graphs: CallGraphs | None = None

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy other inputs to the device."""
        taken = super().take_inputs(inputs)
        self._queue.synchronize()
        return taken

    def run(self) -> None:
        """Compute once and wait; raises `UnsupportedError` where the backend has no kernel."""
        with self._chosen_backend():
            self._enqueue()
        self._queue.synchronize()

    def sample(self, min_seconds: float) -> Sample:
        """Time calls on the device's own clock, as this harness's own kernels are timed."""
        with self._chosen_backend():
            return self._device_timer().sample(self._enqueue, min_seconds)

    def sample_graphs(self, min_seconds: float) -> Sample:
        """Time calls that PyTorch has captured as one graph; a last call leaves its output as ever."""
        if not self._queue.has_graphs:
            return self.sample(min_seconds)
        timer = self._device_timer()
        with self._chosen_backend():
            if self._graphs is None:
                self._enqueue()
                self._graphs = call_graphs(self._queue.captured, self._queue.caches().zero_, self._enqueue)
            taken = timer.sample_graphs(self._graphs, min_seconds)
            self._enqueue()
        self._queue.synchronize()
        return taken

    def energy(self, seconds: float) -> float | None:
        """Return the energy of a call, as of this harness's own kernels."""
        with self._chosen_backend():
            return self._device_timer().energy(self._enqueue, seconds)

    def _device_timer(self) -> EventTimer:
        if self._timer is None:
            self._timer = self._queue.timer()
        return self._timer

    def _chosen_backend(self) -> AbstractContextManager[None]:
        return nullcontext() if self._backend is None else sdpa_kernel(BACKENDS[self._backend])

    def _enqueue(self) -> None:
        try:
            super().run()
        except RuntimeError as error:
            if any(words in str(error) for words in NO_KERNEL):
                raise UnsupportedError(
                    f"PyTorch's backend {self._backend} has no kernel for this problem on this device"
                ) from error
            raise
