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

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where AMD's kernel driver describes its devices; a node without gfx version is a processor."""


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


def rocm_devices(topology: Path = TOPOLOGY) -> list[dict[str, object]]:
    """Return name and chip of each AMD device; raises `OSError` without the HIP library."""
    ctypes.CDLL("libamdhip64.so")
    devices: list[dict[str, object]] = []
    for properties in sorted(topology.glob("*/properties")):
        found = re.search(r"^gfx_target_version (\d+)$", properties.read_text(), re.MULTILINE)
        version = int(found[1]) if found else 0
        if version:
            product = properties.with_name("name").read_text().strip()
            devices.append({"name": f"AMD {product}".strip(), "chip": gfx_name(version)})
    return devices


def gfx_name(version: int) -> str:
    """Return `gfx942` of 90402: two decimal digits each for minor version and stepping, which is in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def main() -> None:
    """Print the devices of the target that is asked for, or `null` where its driver is missing."""
    find = {"cuda": cuda_devices, "rocm": rocm_devices}[sys.argv[1]]
    try:
        print(json.dumps(find()))
    except OSError:
        print("null")


if __name__ == "__main__":
    main()
