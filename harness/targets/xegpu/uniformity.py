"""Values that all lanes of a sub-group share: they take a register's part, not a part for each lane.

A value differs between lanes if it comes from memory, from a message, from a product or an exchange between
lanes, from a lane's number, or if it is computed from one that does.  Kernels here branch by shared values
only, so that what a phi takes depends on no lane.  The driver's compiler finds the same (IGC's `WIAnalysis`).
"""

from collections.abc import Iterable

from harness.targets.xegpu.spirv_text import Block, Instruction, Module

SHARED_BUILTINS = (
    "SubgroupId",
    "SubgroupSize",
    "NumSubgroups",
    "WorkgroupId",
    "WorkgroupSize",
    "NumWorkgroups",
)
"""Variables of SPIR-V that all lanes of a sub-group read the same from."""
PREFIX = "__spirv_BuiltIn"
OF_LANES = ("OpFunctionCall", "OpGroupNonUniform", "OpSubgroup", "OpLoad", "OpAtomic")
"""How opcodes begin whose results differ between lanes, as far as is known."""


def values_of_lanes(module: Module, blocks: Iterable[Block]) -> set[str]:
    """Return the values of a function that may differ between the lanes of a sub-group."""
    instructions = [one for block in blocks for one in block.instructions if one.result is not None]
    found: set[str] = set()
    has_changed = True
    while has_changed:
        before = len(found)
        for instruction in instructions:
            if _is_of_lanes(module, instruction, found):
                found.add(instruction.result or "")
        has_changed = len(found) > before
    return found


def _is_of_lanes(module: Module, instruction: Instruction, known: set[str]) -> bool:
    if instruction.opcode == "OpLoad":
        name = module.names.get(instruction.inputs[0], "")
        return name.removeprefix(PREFIX) not in SHARED_BUILTINS
    return instruction.opcode.startswith(OF_LANES) or not known.isdisjoint(instruction.inputs)
