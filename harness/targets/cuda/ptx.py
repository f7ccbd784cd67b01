"""What PTX says of its kernels, threads and instructions but no registers, and what is said in it of them."""

import math
import re
from collections.abc import Mapping

from harness.targets.gpu.kernel_metrics import KernelMetrics

MATRIX_INSTRUCTION = re.compile(r"^\s*((?:mma\.sync|wmma\.mma|wgmma\.mma_async)[\w.:]*)", re.MULTILINE)

ENTRY = re.compile(r"\.entry\s+([\w$]+)\((.*?)\{", re.DOTALL)
THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+([\d, ]+)")
STATIC_ARRAY = re.compile(r"\.shared\s+(?:\.align\s+\d+\s+)?\.b8\s+[\w$]+\[(\d+)\]")


def kernel_metrics(ptx: str) -> list[KernelMetrics]:
    """Return the metrics of each kernel.

    Arrays in shared memory count for every kernel; a dynamic one has no size here, but where it is launched.
    """
    static = [int(size) for size in STATIC_ARRAY.findall(ptx)]
    return [
        KernelMetrics(shared_bytes=sum(static) if static else None, workgroup_size=_threads(head))
        for _, head in ENTRY.findall(ptx)
    ]


def with_residents(ptx: str, resident_workgroups: Mapping[str, int]) -> str:
    """Return PTX that says how many workgroups of kernels a multiprocessor is to hold.

    `.minnctapersm`: PTX ISA, "Performance-Tuning Directives".
    """

    def directed(entry: re.Match[str]) -> str:
        count = resident_workgroups.get(entry[1])
        return entry[0] if count is None else f"{entry[0][:-1]}.minnctapersm {count}\n{{"

    return ENTRY.sub(directed, ptx)


def _threads(head: str) -> int | None:
    match = THREADS.search(head)
    return math.prod(map(int, match[1].split(","))) if match else None
