"""Instructions of SPIR-V by class, as the columns `instructions.…` have them: what a sub-group executes.

An operation on a vector is one for each of its components, which a sub-group's 16 lanes execute together.  A
product and a message of a block are one each.
"""

import re
from collections import Counter

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

INSTRUCTION = re.compile(r"^\s*(?:(%\w+) = )?(Op\w+)(.*)$")
NAME = re.compile(r'OpName (%\w+) "(.*)"')
ID = re.compile(r"%\w+")


def instruction_classes(assembly: str) -> dict[str, int]:
    """Return how many instructions of each class stand in all kernels."""
    counts: Counter[str] = Counter()
    names = dict(NAME.findall(assembly))
    components: dict[str, int] = {}
    arrays: set[str] = set()
    is_body = False
    for match in filter(None, map(INSTRUCTION.match, assembly.splitlines())):
        result, opcode, operands = match.groups(default="")
        ids = ID.findall(operands)
        if opcode == "OpTypeVector":
            components[result] = int(operands.split()[-1])
        elif opcode in ("OpLabel", "OpFunctionEnd"):
            is_body = opcode == "OpLabel"
        elif is_body:
            inputs = ids[1:] if result else ids
            if opcode == "OpVariable" or (opcode == "OpBitcast" and inputs[0] in arrays):
                arrays.add(result)  # of a lane's own, under all names
            name = _class_of(opcode, _subject(opcode, operands, inputs, names, arrays))
            counts[name] += 1 if name in SINGLE or not result else components.get(ids[0], 1)
    return {name: counts[name] for name in CLASSES if counts[name]}


def _subject(opcode: str, operands: str, inputs: list[str], names: dict[str, str], arrays: set[str]) -> str:
    """Return what an instruction calls, or where what it accesses lies."""
    if opcode == "OpFunctionCall":
        return names.get(inputs[0], "")
    if opcode in ("OpLoad", "OpStore"):
        return "local" if inputs[0] in arrays else "global"
    return operands.strip() if opcode == "OpExtInst" else ""


def _class_of(opcode: str, subject: str) -> str:
    text = f"{opcode} {subject}".strip()
    return next(name for name, pattern in _PATTERNS.items() if pattern.fullmatch(text))
