"""The stub drivers, called as a program that knows only CUDA or HIP would call them."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from harness.emulator.drivers.stub import LIBRARY_NAMES, stub
from harness.emulator.native_library import driver_file, library
from harness.system.errors import InputError

SUCCESS, INVALID_VALUE, NOT_SUPPORTED = 0, 1, 801


@pytest.fixture
def hip() -> ctypes.CDLL:
    stub("hip").select("gfx942")
    return ctypes.CDLL(LIBRARY_NAMES["hip"])


class Cuda:
    """The driver's functions, looked up as a program has to."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY_NAMES["cuda"])

    def __getattr__(self, name: str):
        address = ctypes.c_void_p()
        assert self._library.cuGetProcAddress(name.encode(), ctypes.byref(address), 11030, 0) == SUCCESS
        return ctypes.CFUNCTYPE(ctypes.c_int)(address.value)


@pytest.fixture
def cuda() -> Cuda:
    stub("cuda").select("sm_80")
    return Cuda()


def cuda_attribute(cuda: Cuda, number: int) -> int:
    value = ctypes.c_int()
    function = ctypes.cast(
        cuda.cuDeviceGetAttribute, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    )
    assert function(ctypes.addressof(value), number, 0) == SUCCESS
    return value.value


def hip_attribute(hip: ctypes.CDLL, number: int) -> int:
    value = ctypes.c_int()
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), number, 0) == SUCCESS
    return value.value


def test_cuda_has_the_attributes_of_the_chip(cuda):
    names = {"threads": 1, "shared": 8, "warp": 10, "multiprocessors": 16, "major": 75, "opt_in": 97}
    assert {name: cuda_attribute(cuda, number) for name, number in names.items()} == {
        "threads": 1024,
        "shared": 49152,
        "warp": 32,
        "multiprocessors": 108,
        "major": 8,
        "opt_in": 166912,
    }


@pytest.mark.parametrize(("chip", "wave", "shared"), [("gfx942", 64, 65536), ("gfx1100", 32, 65536)])
def test_hip_has_the_attributes_of_the_chip(hip, chip, wave, shared):
    stub("hip").select(chip)
    assert (hip_attribute(hip, 87), hip_attribute(hip, 74)) == (wave, shared)
    name = ctypes.create_string_buffer(64)
    assert hip.hipDeviceGetName(name, len(name), 0) == SUCCESS
    assert name.value.decode() == f"emulated {chip}"


def test_an_attribute_that_is_not_known_is_an_error(hip):
    value = ctypes.c_int()
    assert hip.hipDeviceGetAttribute(ctypes.byref(value), 4711, 0) == INVALID_VALUE
    hip.hipGetErrorString.restype = ctypes.c_char_p
    assert hip.hipGetErrorString(INVALID_VALUE) == b"device attribute 4711 is not known"
    assert stub("hip").first_failure() == "device attribute 4711 is not known"


def test_functions_that_are_not_there_fail_when_called(cuda, hip):
    assert cuda.cuMemPoolCreate() == NOT_SUPPORTED
    assert hip.hipGraphLaunch() == NOT_SUPPORTED


def test_a_chip_that_is_not_known_is_refused():
    with pytest.raises(InputError, match="gfx9999"):
        stub("hip").select("gfx9999")


def test_memory_is_poisoned_filled_and_copied(hip):
    first, second = ctypes.c_void_p(), ctypes.c_void_p()
    for address in (first, second):
        assert hip.hipMalloc(ctypes.byref(address), ctypes.c_size_t(6)) == SUCCESS
    assert ctypes.string_at(first.value, 6) == b"\xff" * 6
    assert hip.hipMemsetD16Async(first, 0x4241, ctypes.c_size_t(2), None) == SUCCESS
    assert hip.hipMemcpyAsync(second, first, ctypes.c_size_t(6), 3, None) == SUCCESS
    assert ctypes.string_at(second.value, 6) == b"ABAB\xff\xff"
    for address in (first, second):
        assert hip.hipFree(address) == SUCCESS


@pytest.mark.parametrize("driver", LIBRARY_NAMES)
def test_a_driver_that_is_in_use_is_not_shadowed(driver):
    """A library that was loaded under the driver's name before is left alone."""
    program = f"""
import ctypes
from harness.emulator.drivers.stub import stub
from harness.emulator.native_library import library
library()
ctypes.CDLL({str(driver_file(driver, LIBRARY_NAMES[driver]))!r})
stub({driver!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "is in use in this process" in done.stderr


@pytest.mark.parametrize("driver", ["cuda", "hip"])
def test_a_driver_belongs_to_the_library_of_its_process_wherever_the_cache_is_by_now(
    driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = library()._name
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))
    file = driver_file(driver, LIBRARY_NAMES[driver])
    assert file.is_relative_to(tmp_path)
    assert loaded.encode() in file.read_bytes()
