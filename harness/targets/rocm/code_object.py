"""Figures of AMD kernels, read off the assembly that a code object was made from."""

import math
import re

from harness.targets.gpu.kernel_metrics import KernelMetrics

CODE_OBJECT_FILE = "kernels.hsaco"

MATRIX_INSTRUCTION = re.compile(r"\bv_(?:mfma|smfmac|wmma|swmmac)_\w+")

METADATA = re.compile(r"\.amdgpu_metadata\n(.*?)\.end_amdgpu_metadata", re.DOTALL)
KERNEL = re.compile(r"^  - (?=\.)", re.MULTILINE)
"""Where the metadata of one kernel begin; those of its arguments are indented further."""
KERNEL_NAME = re.compile(r"^    \.name:\s+(\S+)", re.MULTILINE)
"""Names of arguments are indented further."""
WORKGROUP_SIZE = re.compile(r"\.reqd_workgroup_size:\n((?:\s+- \d+\n)+)")


def kernel_metrics(assembly: str) -> list[KernelMetrics]:
    """Return the metrics of each kernel; registers are vector registers, accumulators included."""
    return [
        _metrics(kernel)
        for metadata in METADATA.findall(assembly)
        for kernel in KERNEL.split(metadata.partition("amdhsa.kernels:")[2])[1:]
    ]


def spilled_registers(assembly: str) -> int:
    """Return how many registers all kernels spill."""
    return sum(metrics.spills or 0 for metrics in kernel_metrics(assembly))


def _metrics(metadata: str) -> KernelMetrics:
    size = WORKGROUP_SIZE.search(metadata)
    name = KERNEL_NAME.search(metadata)
    return KernelMetrics(
        name=name[1] if name else None,
        registers=_number(metadata, "vgpr_count"),
        spills=_number(metadata, "vgpr_spill_count"),
        accumulator_registers=_number(metadata, "agpr_count"),
        scalar_registers=_number(metadata, "sgpr_count"),
        scratch_bytes=_number(metadata, "private_segment_fixed_size"),
        shared_bytes=_number(metadata, "group_segment_fixed_size"),
        workgroup_size=math.prod(map(int, re.findall(r"\d+", size[1]))) if size else None,
    )


def _number(metadata: str, key: str) -> int | None:
    match = re.search(rf"^[\s-]*\.{key}:\s*(\d+)", metadata, re.MULTILINE)
    return int(match[1]) if match else None
