"""Code for a device in an artifact's folder."""

from pathlib import Path

from harness.targets.cuda.chips import machine_code_runs_on

PTX_FILE = "kernels.ptx"
CUBIN_FILE = "kernels.cubin"


def image_for(folder: Path, chip: str, device_chip: str) -> bytes:
    """Return the machine code if it runs on a device, else the assembly, which its driver compiles."""
    cubin = folder / CUBIN_FILE
    if cubin.exists() and machine_code_runs_on(chip, device_chip):
        return cubin.read_bytes()
    return (folder / PTX_FILE).read_bytes() + b"\0"
