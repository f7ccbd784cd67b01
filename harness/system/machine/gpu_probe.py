"""A program that prints the GPUs of this machine as JSON: `python probe.py cuda|rocm|xegpu`.

A program of its own, because a broken driver may crash whoever asks it, and because the emulator's stub
drivers must not be taken for devices by the process that loads them.  It uses the standard library only.
"""

import ctypes
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

MAJOR_ATTRIBUTE, MINOR_ATTRIBUTE = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR."""

CUDA_FACTS = {
    "multiprocessors": (16, 1),
    "clock_mhz": (13, 1000),
    "memory_clock_mhz": (36, 1000),
    "memory_bus_bits": (37, 1),
    "l2_bytes": (38, 1),
    "ecc": (32, 1),
}
"""Numbers of CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, _CLOCK_RATE, _MEMORY_CLOCK_RATE,
_GLOBAL_MEMORY_BUS_WIDTH, _L2_CACHE_SIZE and _ECC_ENABLED, and what values (clocks in kHz) are divided by."""

DRIVER_VERSION = Path("/proc/driver/nvidia/version")
"""Where NVIDIA's kernel driver says which one it is."""

AMD_DRIVER_VERSION = Path("/sys/module/amdgpu/version")
"""Where AMD's kernel driver says which one it is, if it is not the kernel's own."""

HIP_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")
"""Names of HIP's runtime library: that of development packages, then those of ROCm's versions."""

PROPERTIES_BYTES = 1472
"""Size of `hipDeviceProp_tR0600`, the properties of a device since ROCm 6; its first 256 are the name."""
MEMORY_OFFSET = 288
"""Where `totalGlobalMem` lies in it."""
CHIP_OFFSET = 1160
"""Where `gcnArchName` begins in it: `gfx90a:sramecc+:xnack-`."""

OPENCL_LIBRARY = "libOpenCL.so.1"
"""OpenCL's loader, which finds the drivers."""
GPU_TYPE = 1 << 2
"""CL_DEVICE_TYPE_GPU."""
NAME, VENDOR_ID, MEMORY_BYTES, DRIVER_VERSION_TEXT, IP_VERSION = 0x102B, 0x1001, 0x101F, 0x102D, 0x4250
"""CL_DEVICE_NAME, _VENDOR_ID, _GLOBAL_MEM_SIZE, CL_DRIVER_VERSION and CL_DEVICE_IP_VERSION_INTEL."""
INTEL = 0x8086
"""The vendor's number on the PCI bus."""
INTEL_CHIPS = {(12, 60): "pvc", (12, 61): "pvc", (20, 1): "bmg", (20, 2): "bmg"}
"""MLIR's names of Intel's chips by the version of their graphics cores, as Intel's compute runtime lists them
(`third_party/aot_config_headers`); the version is `cl_intel_device_attribute_query`'s."""


def cuda_devices() -> list[dict[str, object]]:
    """Return what is known of each NVIDIA device; raises `OSError` without a driver."""
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    devices: list[dict[str, object]] = []
    for ordinal in range(count.value):
        device = ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        driver.cuDeviceGetName(name, len(name), device)
        version = [cuda_attribute(driver, device, number) for number in (MAJOR_ATTRIBUTE, MINOR_ATTRIBUTE)]
        facts = {
            fact: None if (value := cuda_attribute(driver, device, number)) is None else value // unit
            for fact, (number, unit) in CUDA_FACTS.items()
        }
        memory = ctypes.c_size_t()
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        devices.append(
            {
                "name": name.value.decode(),
                "chip": f"sm_{version[0]}{version[1]}",
                "memory_bytes": memory.value or None,
                "driver": nvidia_driver(),
                **facts,
            }
        )
    return devices


def cuda_attribute(driver: ctypes.CDLL, device: ctypes.c_int, attribute: int) -> int | None:
    """Return an attribute of a device, None where its driver does not tell it."""
    value = ctypes.c_int()
    return value.value if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device) == 0 else None


def nvidia_driver(file: Path = DRIVER_VERSION) -> str | None:
    """Return the version of NVIDIA's driver, `580.95.05`, where it can be read."""
    try:
        version_match = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", file.read_text())
    except OSError:
        return None
    return version_match[0] if version_match else None


def rocm_devices() -> list[dict[str, object]]:
    """Return what is known of each AMD device that HIP shows; raises `OSError` without its library."""
    runtime = hip_library()
    count = ctypes.c_int()
    if runtime.hipGetDeviceCount(ctypes.byref(count)) != 0:
        return []
    devices: list[dict[str, object]] = []
    for ordinal in range(count.value):
        properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
        if runtime.hipGetDevicePropertiesR0600(properties, ordinal) == 0:
            devices.append(
                {
                    "name": text_at(properties.raw, 0) or "AMD GPU",
                    "chip": text_at(properties.raw, CHIP_OFFSET).split(":")[0],
                    "memory_bytes": ctypes.c_size_t.from_buffer(properties, MEMORY_OFFSET).value or None,
                    "driver": amd_driver(),
                }
            )
    return devices


def hip_library() -> ctypes.CDLL:
    """Return HIP's runtime library; raises `OSError` where there is none."""
    for name in HIP_LIBRARIES[:-1]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return ctypes.CDLL(HIP_LIBRARIES[-1])


def xegpu_devices() -> list[dict[str, object]]:
    """Return what is known of each of Intel's GPUs that OpenCL shows; raises `OSError` without OpenCL."""
    library = opencl_library()
    return [
        {
            "name": device_text(library, device, NAME),
            "chip": intel_chip(device_number(library, device, IP_VERSION)),
            "memory_bytes": device_number(library, device, MEMORY_BYTES) or None,
            "driver": device_text(library, device, DRIVER_VERSION_TEXT) or None,
        }
        for _, device in intel_gpus(library)
    ]


def opencl_library() -> ctypes.CDLL:
    """Return OpenCL's loader; raises `OSError` where there is none."""
    return ctypes.CDLL(OPENCL_LIBRARY)


def intel_gpus(library: ctypes.CDLL) -> Iterator[tuple[int, int]]:
    """Yield platform and device, by their handles, of each of Intel's GPUs."""
    for platform in opencl_handles(library.clGetPlatformIDs):
        for device in opencl_handles(
            library.clGetDeviceIDs, ctypes.c_void_p(platform), ctypes.c_uint64(GPU_TYPE)
        ):
            if device_number(library, device, VENDOR_ID) == INTEL:
                yield platform, device


def opencl_handles(function: Callable[..., int], *arguments: object) -> list[int]:
    """Return what a function lists, which tells how many there are first; nothing where it fails."""
    count = ctypes.c_uint()
    if function(*arguments, 0, None, ctypes.byref(count)) != 0:
        return []
    handles = (ctypes.c_void_p * count.value)()
    if function(*arguments, count, handles, None) != 0:
        return []
    return [handle for handle in handles if handle]


def device_number(library: ctypes.CDLL, device: int, property_: int) -> int:
    """Return a property of 32 or 64 bits, 0 where a device does not have it."""
    value = ctypes.c_uint64()
    arguments = (
        ctypes.c_void_p(device),
        property_,
        ctypes.c_size_t(ctypes.sizeof(value)),
        ctypes.byref(value),
        None,
    )
    return value.value if library.clGetDeviceInfo(*arguments) == 0 else 0


def device_text(library: ctypes.CDLL, device: int, property_: int) -> str:
    """Return a property that is text, empty where a device does not have it."""
    text = ctypes.create_string_buffer(1 << 16)
    arguments = ctypes.c_void_p(device), property_, ctypes.c_size_t(ctypes.sizeof(text)), text, None
    return text.value.decode(errors="replace").strip() if library.clGetDeviceInfo(*arguments) == 0 else ""


def intel_chip(version: int) -> str:
    """Return the chip with a version of graphics cores; where it is no known one, the version, `20.4`."""
    release = version >> 22, version >> 14 & 0xFF
    return INTEL_CHIPS.get(release, f"{release[0]}.{release[1]}")


def text_at(raw: bytes, offset: int) -> str:
    """Return the text that begins at a byte and ends before the next 0."""
    return raw[offset:].split(b"\0")[0].decode().strip()


def amd_driver() -> str | None:
    """Return the version of AMD's driver, `6.12.12`, where it can be read."""
    try:
        return AMD_DRIVER_VERSION.read_text().strip() or None
    except OSError:
        return None


def main() -> None:
    """Print the devices of the target that is asked for, or `null` where its driver is missing."""
    find = {"cuda": cuda_devices, "rocm": rocm_devices, "xegpu": xegpu_devices}[sys.argv[1]]
    try:
        print(json.dumps(find()))
    except OSError:
        print("null")


if __name__ == "__main__":
    main()
