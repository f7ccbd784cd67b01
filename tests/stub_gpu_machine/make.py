"""A machine with one of NVIDIA's GPUs, as far as programs can tell: its driver is the emulator's stub.

    python tests/stub_gpu_machine/make.py FOLDER CHIP      # prints the variables of such a machine

`libcuda.so.1` is found by the dynamic linker, as a real one is, and the code that asks for devices, loads
kernels, launches and times them is the code for real ones.  What differs is in `sitecustomize.py`.
"""

import os
import shlex
import sys
from pathlib import Path

from harness.emulator.drivers.stub import LIBRARY_NAMES, VERSIONED_CUDA
from harness.emulator.native_library import driver_file

HERE = Path(__file__).resolve().parent


def make_stub_machine(folder: Path, chip: str) -> dict[str, str]:
    """Put a stub machine's files into a folder; return the variables of the processes on that machine."""
    folder = folder.resolve()
    libraries = folder / "libraries"
    libraries.mkdir(parents=True, exist_ok=True)
    cache = folder / "cache"
    os.environ["HARNESS_CACHE_DIR"] = str(cache)
    management = LIBRARY_NAMES["nvml"]
    stubs = {
        VERSIONED_CUDA: driver_file("cuda", VERSIONED_CUDA),
        LIBRARY_NAMES["cuda"]: driver_file("cuda", VERSIONED_CUDA),
        management: driver_file("nvml", management),
    }
    for name, stub in stubs.items():
        (libraries / name).unlink(missing_ok=True)
        (libraries / name).symlink_to(stub)
    return {
        "HARNESS_CACHE_DIR": str(cache),  # the stub driver launches on the emulator's library in it
        "HARNESS_STUB_CHIP": chip,
        "LD_LIBRARY_PATH": str(libraries),
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]),
    }


if __name__ == "__main__":
    for name, value in make_stub_machine(Path(sys.argv[1]), sys.argv[2]).items():
        print(f"{name}={shlex.quote(value)}")
