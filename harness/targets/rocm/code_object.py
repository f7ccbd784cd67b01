"""Figures of AMD kernels, and their instructions by class, read off the assembly of a code object."""

import math
import re
from collections import Counter

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


INSTRUCTION = re.compile(r"^\s+([a-z]\w+)(?:\s|$)")
PAIRED = re.compile(r"::\s*([a-z]\w+)")
"""The second of two instructions that are issued as one, on RDNA."""

CLASSES = {
    "matrix": r"v_s?(?:mfma|wmma)\w*|v_s[wm]\w*mac\w*",
    "shuffle": r"ds_(?:bpermute|permute|swizzle)\w*|v_permlane\w*|v_(?:read|write)\w*lane\w*|v_\w+_dpp8?",
    "special": r"v_(?:exp|log|rcp|rsq|sqrt|sin|cos)_\w+",
    "convert": r"v_(?:cvt|pack)_\w+",
    "float": r"v_(?:pk_|dual_)?(?:add|sub|subrev|mul|mac|fma|fmac|fmamk|fmaak|fma_mix\w*|ldexp|div_\w+"
    r"|min|max|min3|max3|med3|minimum|maximum|minimum3|maximum3)_(?:num_)?f\d+\w*",
    "shared": r"ds_\w+",
    "global": r"(?:global|buffer|flat)_\w+",
    "local": r"scratch_\w+",
    "barrier": r"s_barrier\w*",
    "branch": r"s_c?branch\w*|s_(?:endpgm|setpc|swappc|call)\w*",
    "constant": r"s_(?:buffer_)?load_\w+",
    "none": r"s_(?:wait\w*|nop|delay_alu|clause|sleep|setprio|sched\w*|code_end|inst_prefetch|set_inst\w*)",
    "integer": r"[vs]_\w+",
}
"""Patterns in the order in which they are tried; what is left of vector and scalar instructions computes
addresses, moves and selects."""

_PATTERNS = {name: re.compile(pattern) for name, pattern in CLASSES.items()}


def instruction_classes(assembly: str) -> dict[str, int]:
    """Return how many instructions of each class stand in the code."""
    counts = Counter(filter(None, map(_class_of, _instructions(assembly))))
    return {name: counts[name] for name in CLASSES if counts[name]}


def _instructions(assembly: str) -> list[str]:
    instructions = []
    for line in assembly.splitlines():
        code = line.partition(";")[0]
        first = INSTRUCTION.match(code)
        if first is not None:
            instructions += [first[1], *PAIRED.findall(code)]
    return instructions


def _class_of(instruction: str) -> str | None:
    """Return the class of an instruction; None for a line of metadata, which is none."""
    return next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(instruction)), None)
