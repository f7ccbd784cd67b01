"""The device that this process works on, its context, and calls of the CUDA driver API as exceptions."""

import functools
from typing import Any

from cuda.bindings import driver

from harness.system.errors import UnsupportedError
from harness.targets.cuda.chips import runs_on
from harness.targets.cuda.device.clocks import nvidia_clocks
from harness.targets.gpu.driver import DeviceError
from harness.targets.gpu.streams import StreamApi, StreamDevice


def checked(result: tuple[Any, ...]) -> Any:
    """Return what a call gives besides its error code: nothing, one value, or a tuple.

    Raises `MemoryError` where the device has not enough memory, else `DeviceError` with the driver's words.
    """
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        text = f"{_text(driver.cuGetErrorName(error))}: {_text(driver.cuGetErrorString(error))}"
        if error == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise MemoryError(text)
        raise DeviceError(text)
    if len(values) == 1:
        return values[0]
    return tuple(values) or None


def _text(result: tuple[Any, bytes | None]) -> str:
    return (result[1] or b"unknown error").decode()


CUDA = StreamApi(
    call=lambda name, *arguments: checked(getattr(driver, f"cu{name}")(*arguments)),
    free=driver.cuMemFree,
    allocate="MemAlloc",
    launch="LaunchKernel",
    synchronize="CtxSynchronize",
    event_flags=(driver.CUevent_flags.CU_EVENT_DEFAULT,),
)


BUS_BYTES = 32


def open_device(chip: str) -> StreamDevice:
    """Make the first device that runs code for a chip this thread's own; raises `UnsupportedError`."""
    device = find_device(chip)
    device.make_current()
    return device


@functools.cache
def find_device(chip: str) -> StreamDevice:
    """Return the first device that runs code for a chip; raises `UnsupportedError`.

    Its context is the primary one, which PyTorch and others in this process share.
    """
    checked(driver.cuInit(0))
    for ordinal in range(checked(driver.cuDeviceGetCount())):
        handle = checked(driver.cuDeviceGet(ordinal))
        own_chip = _chip_of(handle)
        if runs_on(chip, own_chip):
            context = checked(driver.cuDevicePrimaryCtxRetain(handle))
            bus = checked(driver.cuDeviceGetPCIBusId(BUS_BYTES, handle)).split(b"\0")[0].decode().strip()
            return StreamDevice(
                api=CUDA,
                ordinal=ordinal,
                chip=own_chip,
                cache_bytes=_attribute(handle, "L2_CACHE_SIZE"),
                make_current=functools.partial(CUDA.call, "CtxSetCurrent", context),
                clocks=functools.partial(nvidia_clocks, bus),
            )
    raise UnsupportedError(f"no device for {chip}")


def _chip_of(handle: Any) -> str:
    major, minor = (_attribute(handle, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    return f"sm_{major}{minor}"


def _attribute(handle: Any, name: str) -> int:
    attribute = driver.CUdevice_attribute[f"CU_DEVICE_ATTRIBUTE_{name}"]
    return int(checked(driver.cuDeviceGetAttribute(attribute, handle)))
