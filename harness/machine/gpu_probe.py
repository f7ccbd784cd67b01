"""A program that prints the GPUs of this machine as JSON: `python probe.py cuda|rocm`.

A program of its own, because a broken driver may crash whoever asks it, and because the emulator's stub
drivers must not be taken for devices by the process that loads them.  It uses the standard library only.
"""

import ctypes
import json
import re
import sys
from pathlib import Path

MAJOR_ATTRIBUTE, MINOR_ATTRIBUTE = 75, 76
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR."""

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
        version = [ctypes.c_int(), ctypes.c_int()]
        driver.cuDeviceGet(ctypes.byref(device), ordinal)
        driver.cuDeviceGetName(name, len(name), device)
        for value, attribute in zip(version, (MAJOR_ATTRIBUTE, MINOR_ATTRIBUTE), strict=True):
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        memory = ctypes.c_size_t()
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        devices.append(
            {
                "name": name.value.decode(),
                "chip": f"sm_{version[0].value}{version[1].value}",
                "memory_bytes": memory.value or None,
                "driver": nvidia_driver(),
            }
        )
    return devices


def nvidia_driver(file: Path = DRIVER_VERSION) -> str | None:
    """Return the version of NVIDIA's driver, `580.95.05`, where it can be read."""
    try:
        found = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", file.read_text())
    except OSError:
        return None
    return found[0] if found else None


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


def text_at(raw: bytes, offset: int) -> str:
    """Return the text that begins at a byte and ends before the next 0."""
    return raw[offset:].split(b"\0")[0].decode().strip()


def amd_driver(file: Path = AMD_DRIVER_VERSION) -> str | None:
    """Return the version of AMD's driver, `6.12.12`, where it can be read."""
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def main() -> None:
    """Print the devices of the target that is asked for, or `null` where its driver is missing."""
    find = {"cuda": cuda_devices, "rocm": rocm_devices}[sys.argv[1]]
    try:
        print(json.dumps(find()))
    except OSError:
        print("null")


if __name__ == "__main__":
    main()
