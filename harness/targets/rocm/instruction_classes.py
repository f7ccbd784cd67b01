"""AMD's machine instructions by class, as the columns `instructions.…` have them, counted in assembly."""

import re
from collections import Counter

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
