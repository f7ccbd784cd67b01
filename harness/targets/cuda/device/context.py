"""The device that this process works on, and its context."""

import functools
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver

from harness.errors import UnsupportedError
from harness.targets.cuda.chips import runs_on
from harness.targets.cuda.device.calls import checked

NAME_BYTES = 128
BUS_BYTES = 32


@dataclass(frozen=True)
class Device:
    """A device, and its context in this process."""

    ordinal: int
    name: str
    chip: str
    """Its own chip, `sm_90`, without a suffix."""
    l2_bytes: int
    bus: str
    """Its place on the PCI bus, by which other libraries know it."""
    context: Any

    def make_current(self) -> None:
        """Let what this thread asks of the driver be for this device: each thread has its own context."""
        checked(driver.cuCtxSetCurrent(self.context))


def open_device(chip: str) -> Device:
    """Make the first device that runs code for a chip this thread's own; raises `UnsupportedError`.

    It is the device's primary context, which PyTorch and others in this process share.
    """
    device = find_device(chip)
    device.make_current()
    return device


@functools.cache
def find_device(chip: str) -> Device:
    """Return the first device that runs code for a chip; raises `UnsupportedError`."""
    checked(driver.cuInit(0))
    for ordinal in range(checked(driver.cuDeviceGetCount())):
        handle = checked(driver.cuDeviceGet(ordinal))
        if runs_on(chip, chip_of(handle)):
            return _opened(ordinal, handle)
    raise UnsupportedError(f"no device for {chip}")


def chip_of(handle: Any) -> str:
    """Return a device's own chip."""
    attributes = driver.CUdevice_attribute
    major = _attribute(handle, attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    minor = _attribute(handle, attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    return f"sm_{major}{minor}"


def synchronize() -> None:
    """Wait until everything on the device is done; an error of a kernel is raised here."""
    checked(driver.cuCtxSynchronize())


def _opened(ordinal: int, handle: Any) -> Device:
    context = checked(driver.cuDevicePrimaryCtxRetain(handle))
    return Device(
        ordinal=ordinal,
        name=_line(checked(driver.cuDeviceGetName(NAME_BYTES, handle))),
        chip=chip_of(handle),
        l2_bytes=_attribute(handle, driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        bus=_line(checked(driver.cuDeviceGetPCIBusId(BUS_BYTES, handle))),
        context=context,
    )


def _attribute(handle: Any, attribute: Any) -> int:
    return int(checked(driver.cuDeviceGetAttribute(attribute, handle)))


def _line(text: bytes) -> str:
    return text.split(b"\0")[0].decode().strip()
