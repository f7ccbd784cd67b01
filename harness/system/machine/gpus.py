"""The GPUs of this machine."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

PROBE = Path(__file__).with_name("gpu_probe.py")
PROBE_LIMIT_S = 30.0


@dataclass(frozen=True)
class GpuDevice:
    """A GPU that is there."""

    name: str
    chip: str
    """Its own chip, `sm_90`, without a suffix."""
    memory_bytes: int | None = None
    driver: str | None = None
    multiprocessors: int | None = None
    clock_mhz: int | None = None
    """The highest clock of the multiprocessors."""
    memory_clock_mhz: int | None = None
    memory_bus_bits: int | None = None
    l2_bytes: int | None = None
    ecc: bool | None = None
    """Whether memory corrects errors, which takes some of its bandwidth."""


_DEVICES = TypeAdapter(list[GpuDevice] | None)


@functools.cache
def devices(target: str) -> tuple[GpuDevice, ...] | None:
    """Return the devices of the target `cuda`, `rocm` or `xegpu`; None where there is no driver."""
    command = [sys.executable, "-I", str(PROBE), target]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=PROBE_LIMIT_S)
        probed_devices = _DEVICES.validate_json(done.stdout)
    except (subprocess.TimeoutExpired, ValidationError):
        return ()  # there is a driver, and it crashed or never answered
    return None if probed_devices is None else tuple(probed_devices)
