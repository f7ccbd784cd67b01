"""CUDA graphs: work of a stream, captured once and launched at once."""

import weakref
from functools import partial
from typing import Any

from cuda.bindings import driver

from harness.targets.cuda.device.calls import checked
from harness.targets.gpu.driver import Enqueue


def captured(work: Enqueue, stream: int) -> Enqueue:
    """Return what launches, as one graph, all that `work` enqueues on a stream.

    The stream is none of those that every device has: these cannot be captured.
    """
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    checked(driver.cuStreamBeginCapture(stream, mode))
    try:
        work()
    finally:
        graph = checked(driver.cuStreamEndCapture(stream))
    return partial(_launch, _Graph(graph), stream)


class _Graph:
    """An executable graph, freed with this object."""

    def __init__(self, graph: Any) -> None:
        self.executable = checked(driver.cuGraphInstantiate(graph, 0))
        checked(driver.cuGraphDestroy(graph))
        weakref.finalize(self, driver.cuGraphExecDestroy, self.executable)


def _launch(graph: _Graph, stream: int) -> None:
    checked(driver.cuGraphLaunch(graph.executable, stream))
