"""Instructions of SPIR-V by class, as the columns `instructions.…` have them: what a sub-group executes.

An operation on a vector is one for each of its components, which a sub-group's 16 lanes execute together.  A
product and a message of a block are one each.
"""

import re
from collections import Counter
from collections.abc import Iterable

from harness.targets.xegpu.spirv_text import Block, Instruction, Module, innermost_loops

CLASSES = {
    "matrix": r"OpFunctionCall .*matrix_mad.*",
    "global": r"OpFunctionCall .*block_(?:read|write|prefetch).*|Op(?:Load|Store) global",
    "shuffle": r"OpGroupNonUniform\w+.*|OpSubgroup\w+.*|OpFunctionCall .*shuffle.*",
    "special": r"OpExtInst .*(?:exp|log|sqrt|recip|sin|cos).*|OpFDiv.*",
    "convert": r"OpFConvert.*|OpConvert[FSU]To[FSU]\b.*",
    "float": r"OpExtInst .*(?:fma|fmax|fmin|mad|fabs).*|OpF(?:Add|Sub|Mul|Negate|Ord\w+|Unord\w+)\b.*",
    "barrier": r"Op(?:Control|Memory)Barrier.*",
    "branch": r"Op(?:Branch|BranchConditional|Switch|Return)\b.*",
    "none": r"Op(?:Composite(?:Extract|Insert|Construct)|Bitcast|VectorShuffle|Phi|Variable|Undef)\b.*"
    r"|Op(?:Load|Store) local|OpConvert(?:PtrToU|UToPtr)\b.*",
    "integer": r"Op.*",
}
"""Patterns in the order in which they are tried, of the opcode and what it calls or accesses; what is left of
all computes addresses, compares and selects.  `none` names registers and parts of them, for the most part."""

_PATTERNS = {name: re.compile(pattern) for name, pattern in CLASSES.items()}
SINGLE = ("matrix", "global", "branch", "barrier")
"""Classes of which one instruction is one, whatever its result."""


def instruction_classes(module: Module) -> dict[str, int]:
    """Return how many instructions of each class stand in all kernels."""
    counts: Counter[str] = Counter()
    for blocks in module.functions.values():
        counts += class_counts(module, blocks)
    return {name: counts[name] for name in CLASSES if counts[name]}


def main_loop(module: Module) -> Counter[str] | None:
    """Return the classes of the innermost loop with the most products, None where none has any."""
    loops = [
        class_counts(module, loop) for blocks in module.functions.values() for loop in innermost_loops(blocks)
    ]
    best = max(loops, key=lambda counts: counts["matrix"], default=None)
    return best if best is not None and best["matrix"] else None


def class_counts(module: Module, blocks: Iterable[Block]) -> Counter[str]:
    """Return how many instructions of each class stand in some blocks."""
    counts: Counter[str] = Counter()
    for block in blocks:
        for instruction in block.instructions:
            name = class_of(module, instruction)
            counts[name] += 1 if name in SINGLE else _components(module, instruction)
    return counts


def class_of(module: Module, instruction: Instruction) -> str:
    """Return the class of an instruction."""
    text = f"{instruction.opcode} {_what(module, instruction)}"
    return next(name for name, pattern in _PATTERNS.items() if pattern.fullmatch(text.strip()))


def _what(module: Module, instruction: Instruction) -> str:
    """Return what an instruction calls, or where what it accesses lies."""
    if instruction.opcode == "OpFunctionCall":
        return module.names.get(instruction.inputs[0], "")
    if instruction.opcode == "OpExtInst":
        return instruction.operands
    if instruction.opcode in ("OpLoad", "OpStore"):
        return "local" if instruction.inputs[0] in module.arrays else "global"
    return ""


def _components(module: Module, instruction: Instruction) -> int:
    if instruction.result is None or not instruction.ids:
        return 1
    kind = module.types.get(instruction.ids[0])
    return 1 if kind is None else kind.components
