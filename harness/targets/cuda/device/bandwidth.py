"""How fast a device copies its own memory."""

import functools

from cuda.bindings import driver

from harness.targets.cuda.device.calls import checked
from harness.targets.cuda.device.context import find_device, open_device
from harness.targets.cuda.device.events import CudaEvents
from harness.targets.cuda.device.memory import DEFAULT_STREAM, CudaMemory

COPIED_CACHES = 8
"""Sizes of the L2 cache that are copied: little of them is left in it."""

COPIES = 5
"""Copies of one sample, of which the fastest counts: nothing makes a copy too fast."""


def copy_bandwidth(chip: str) -> float:
    """Return the bytes/s that the first device for a chip moves in a copy, those read and those written."""
    device = open_device(chip)
    copied = COPIED_CACHES * max(device.l2_bytes, 1)
    source, destination = _buffers(chip, copied)
    events = CudaEvents(DEFAULT_STREAM)
    start, end = events.create(), events.create()
    seconds = []
    for _ in range(COPIES):
        events.record(start)
        checked(driver.cuMemcpyDtoDAsync(destination.address, source.address, copied, DEFAULT_STREAM))
        events.record(end)
        events.wait(end)
        seconds.append(events.seconds_between(start, end))
    return 2 * copied / min(seconds)


@functools.cache
def _buffers(chip: str, bytes_: int) -> tuple[CudaMemory, CudaMemory]:
    """Return memory of the device, which stays: allocating it takes longer than a sample."""
    find_device(chip).make_current()
    source, destination = CudaMemory(bytes_), CudaMemory(bytes_)
    source.fill(1)
    return source, destination
