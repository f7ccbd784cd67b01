"""How fast a device copies its own memory."""

import functools

from harness.targets.cuda.device.context import CUDA, open_device
from harness.targets.gpu.streams import DEFAULT_STREAM, StreamEvents, StreamMemory

COPIED_CACHES = 8
"""Sizes of the L2 cache that are copied: little of them is left in it."""

COPIES = 5
"""Copies of one sample, of which the fastest counts: nothing makes a copy too fast."""


def copy_bandwidth(chip: str) -> float:
    """Return the bytes/s that the first device for a chip moves in a copy, those read and those written."""
    open_device(chip)
    source, destination = _buffers(chip)
    events = StreamEvents(CUDA, DEFAULT_STREAM)
    start, end = events.create(), events.create()
    seconds = []
    for _ in range(COPIES):
        events.record(start)
        CUDA.call("MemcpyDtoDAsync", destination.address, source.address, source.bytes, DEFAULT_STREAM)
        events.record(end)
        events.wait(end)
        seconds.append(events.seconds_between(start, end))
    return 2 * source.bytes / min(seconds)


@functools.cache
def _buffers(chip: str) -> tuple[StreamMemory, StreamMemory]:
    """Return memory of the device, which stays: allocating it takes longer than a sample."""
    copied = COPIED_CACHES * max(open_device(chip).cache_bytes, 1)
    source, destination = StreamMemory(CUDA, copied), StreamMemory(CUDA, copied)
    source.fill(1)
    return source, destination
