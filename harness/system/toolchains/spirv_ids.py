"""The ids that instructions of a SPIR-V module define: each at most once (SPIR-V, section 2.4 and 3.49)."""

from collections.abc import Iterator

from harness.system.toolchains.spirv_words import instructions

WITHOUT_RESULT = frozenset(
    (
        *range(2, 7),  # OpSourceContinued … OpMemberName
        *(8, 10, 14, 15, 16, 17),  # OpLine, OpExtension, OpMemoryModel … OpCapability
        *(56, 62, 63, 64),  # OpFunctionEnd, OpStore, OpCopyMemory, OpCopyMemorySized
        *(71, 72, 74, 75),  # OpDecorate … OpGroupMemberDecorate
        *(224, 225),  # OpControlBarrier, OpMemoryBarrier
        *(246, 247, *range(249, 258)),  # merges, branches, returns, lifetimes
        *(317, 330, 331, 332),  # OpNoLine, OpModuleProcessed, OpExecutionModeId, OpDecorateId
    )
)
"""Opcodes of instructions that define nothing."""
WITHOUT_TYPE = frozenset((7, 11, *range(19, 39), 73, 248))
"""Opcodes of instructions whose result has no type: names, types, decoration groups and labels."""


def defined_ids(image: bytes) -> Iterator[int]:
    """Yield the id that each instruction of a module defines, in order."""
    for opcode, operands in instructions(image):
        if opcode not in WITHOUT_RESULT:
            yield operands[0 if opcode in WITHOUT_TYPE else 1]


def defines_each_id_once(image: bytes) -> bool:
    """Return whether no two instructions of a module define the same id."""
    ids = list(defined_ids(image))
    return len(set(ids)) == len(ids)
