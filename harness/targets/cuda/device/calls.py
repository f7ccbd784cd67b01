"""Calls of the CUDA driver API whose errors are exceptions."""

from typing import Any

from cuda.bindings import driver

from harness.targets.gpu.driver import DeviceError
from harness.targets.gpu.streams import StreamApi


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
