"""The device that this process works on."""

import ctypes
import functools
from dataclasses import dataclass

from harness.errors import UnsupportedError
from harness.machine.gpu_probe import CHIP_OFFSET, PROPERTIES_BYTES, text_at
from harness.targets.rocm.device.calls import call

L2_CACHE_SIZE = 19
"""`hipDeviceAttributeL2CacheSize`."""
NAME_BYTES = 256
BUS_BYTES = 32


@dataclass(frozen=True)
class Device:
    """A device, by its number in this process."""

    ordinal: int
    name: str
    chip: str
    """`gfx942`, without features."""
    l2_bytes: int
    bus: str
    """Its place on the PCI bus, by which other libraries know it."""

    def make_current(self) -> None:
        """Let what this thread asks of HIP be for this device: each thread begins with the first one."""
        call("hipSetDevice", self.ordinal)


def open_device(chip: str) -> Device:
    """Make the first device of a chip this thread's own; raises `UnsupportedError`."""
    device = find_device(chip)
    device.make_current()
    return device


@functools.cache
def find_device(chip: str) -> Device:
    """Return the first device of a chip; raises `UnsupportedError`."""
    call("hipInit", 0)
    count = ctypes.c_int()
    call("hipGetDeviceCount", ctypes.byref(count))
    for ordinal in range(count.value):
        if chip_of(ordinal) == chip:
            return Device(
                ordinal=ordinal,
                name=_text("hipDeviceGetName", NAME_BYTES, ordinal),
                chip=chip,
                l2_bytes=_attribute(L2_CACHE_SIZE, ordinal),
                bus=_text("hipDeviceGetPCIBusId", BUS_BYTES, ordinal),
            )
    raise UnsupportedError(f"no device for {chip}")


def chip_of(ordinal: int) -> str:
    """Return a device's own chip."""
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    call("hipGetDevicePropertiesR0600", ctypes.addressof(properties), ordinal)
    return text_at(properties.raw, CHIP_OFFSET).split(":")[0]


def _attribute(attribute: int, ordinal: int) -> int:
    value = ctypes.c_int()
    call("hipDeviceGetAttribute", ctypes.byref(value), attribute, ordinal)
    return value.value


def _text(function: str, capacity: int, ordinal: int) -> str:
    text = ctypes.create_string_buffer(capacity)
    call(function, text, capacity, ordinal)
    return text.value.decode().strip()
