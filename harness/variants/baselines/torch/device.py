"""Loads and calls the PyTorch baselines on an NVIDIA GPU; imported only in the process that runs them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.errors import UnsupportedError
from harness.problem.inputs import Inputs
from harness.targets.cuda.device.context import Device, open_device
from harness.targets.cuda.device.events import event_timer
from harness.targets.gpu.event_timer import EventTimer
from harness.variants.baselines.torch.calls import FusedExecutable, UnfusedExecutable

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
"""PyTorch's implementations of fused attention, by the names that experiments give them."""

NO_KERNEL = ("No available kernel", "No viable backend")
"""How PyTorch says that a backend does not do a problem."""


def load_fused(artifact: Artifact, folder: Path) -> "OnDevice":
    """Return the executable of `torch`, with the backend that its parameters name, or PyTorch's choice."""
    device = _open(artifact)
    backend = artifact.case.params.get("backend")
    inner = FusedExecutable(artifact.case.problem, torch.device("cuda", device.ordinal))
    return OnDevice(inner, device, None if backend is None else str(backend))


def load_unfused(artifact: Artifact, folder: Path) -> "OnDevice":
    """Return the executable of `torch-unfused`."""
    device = _open(artifact)
    return OnDevice(UnfusedExecutable(artifact.case.problem, torch.device("cuda", device.ordinal)), device)


class OnDevice(Executable):
    """Calls of PyTorch whose tensors are on a device."""

    def __init__(self, inner: Executable, device: Device, backend: str | None = None) -> None:
        self.inner = inner
        self.device = device
        self.backend = backend

    def bind(self, inputs: Inputs) -> "CallOnDevice":
        """Copy the inputs to the device."""
        stream = torch.cuda.current_stream().cuda_stream
        return CallOnDevice(self.inner.bind(inputs), self.backend, lambda: event_timer(self.device, stream))

    def turn(self) -> AbstractContextManager[object]:
        """Make the device this thread's own."""
        self.device.make_current()
        return nullcontext()


class CallOnDevice(BoundCall):
    """A call that PyTorch enqueues on a device."""

    def __init__(self, inner: BoundCall, backend: str | None, timer: Callable[[], EventTimer]) -> None:
        self._inner = inner
        self._backend = backend
        self._make_timer = timer
        self._timer: EventTimer | None = None

    def poison(self) -> None:
        """Fill what is kept between calls with NaN."""
        self._inner.poison()

    def poison_outputs(self) -> None:
        """Fill outputs that are kept between calls with NaN."""
        self._inner.poison_outputs()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy other inputs to the device."""
        taken = self._inner.take_inputs(inputs)
        torch.cuda.synchronize()
        return taken

    def run(self) -> None:
        """Compute once and wait; raises `UnsupportedError` where the backend has no kernel."""
        with self._chosen_backend():
            self._enqueue()
        torch.cuda.synchronize()

    def sample(self, min_seconds: float) -> Sample:
        """Time calls on the device's own clock, as this harness's own kernels are timed."""
        if self._timer is None:
            self._timer = self._make_timer()
        with self._chosen_backend():
            return self._timer.sample(self._enqueue, min_seconds)

    def output(self) -> np.ndarray:
        """Return the output of the last run."""
        return self._inner.output()

    def _chosen_backend(self) -> AbstractContextManager[None]:
        return nullcontext() if self._backend is None else sdpa_kernel(BACKENDS[self._backend])

    def _enqueue(self) -> None:
        try:
            self._inner.run()
        except RuntimeError as error:
            if any(words in str(error) for words in NO_KERNEL):
                raise UnsupportedError(
                    f"PyTorch's backend {self._backend} has no kernel for this problem on this device"
                ) from error
            raise


def _open(artifact: Artifact) -> Device:
    if not torch.cuda.is_available():
        raise UnsupportedError(f"PyTorch {torch.__version__} was built without CUDA: install a build with it")
    return open_device(artifact.launch["chip"])
