"""The device that this process works on."""

import ctypes
import functools

from harness.system.errors import UnsupportedError
from harness.system.machine.gpu_probe import CHIP_OFFSET, PROPERTIES_BYTES, text_at
from harness.targets.gpu.streams import StreamDevice
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.device.calls import HIP, call
from harness.targets.rocm.device.clocks import amd_clocks

L2_CACHE_SIZE = 19
"""`hipDeviceAttributeL2CacheSize`."""
BUS_BYTES = 32


def open_device(chip: str) -> StreamDevice:
    """Make the first device of a chip this thread's own; raises `UnsupportedError`."""
    device = find_device(chip)
    device.make_current()
    return device


@functools.cache
def find_device(chip: str) -> StreamDevice:
    """Return the first device of a chip; raises `UnsupportedError`.

    Behind the L2 cache some chips have a last-level cache that the runtime does not tell of.
    """
    call("hipInit", 0)
    for ordinal in range(call("hipGetDeviceCount")):
        if _chip_of(ordinal) == chip:
            bus = ctypes.create_string_buffer(BUS_BYTES)
            call("hipDeviceGetPCIBusId", bus, BUS_BYTES, ordinal)
            l2_bytes = call("hipDeviceGetAttribute", L2_CACHE_SIZE, ordinal)
            return StreamDevice(
                api=HIP,
                ordinal=ordinal,
                chip=chip,
                cache_bytes=max(l2_bytes, CHIPS[chip].last_level_cache_bytes),
                make_current=functools.partial(call, "hipSetDevice", ordinal),
                clocks=functools.partial(amd_clocks, bus.value.decode().strip()),
            )
    raise UnsupportedError(f"no device for {chip}")


def _chip_of(ordinal: int) -> str:
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    call("hipGetDevicePropertiesR0600", ctypes.addressof(properties), ordinal)
    return text_at(properties.raw, CHIP_OFFSET).split(":")[0]
