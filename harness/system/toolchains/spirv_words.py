"""A module of SPIR-V as instructions (SPIR-V, section 2.3), and what it says of itself."""

import struct
from collections.abc import Iterator

HEADER_WORDS = 5
WORD_BYTES = 4

CAPABILITY, FUNCTION, DECORATE = 17, 54, 71
"""OpCapability, OpFunction and OpDecorate."""
LINKAGE_ATTRIBUTES = 41
"""The decoration that gives functions and variables a name in other modules, and says in which they are."""
IMPORT = 1
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


def instructions(image: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield opcode and operands, as words, of each instruction in order."""
    words = struct.unpack(f"<{len(image) // WORD_BYTES}I", image)
    at = HEADER_WORDS
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + length]
        at += length


def defined_ids(image: bytes) -> Iterator[int]:
    """Yield the id that each instruction of a module defines, in order: each at most once (section 2.4)."""
    for opcode, operands in instructions(image):
        if opcode not in WITHOUT_RESULT:
            yield operands[0 if opcode in WITHOUT_TYPE else 1]


def capabilities(image: bytes) -> set[int]:
    """Return the numbers of the capabilities that a module declares."""
    return {operands[0] for opcode, operands in instructions(image) if opcode == CAPABILITY}


def imports(image: bytes) -> list[str]:
    """Return the names of the functions that a module calls and does not have, in order."""
    function_ids = {operands[1] for opcode, operands in instructions(image) if opcode == FUNCTION}
    return [
        _text(operands[2:-1])
        for opcode, operands in instructions(image)
        if opcode == DECORATE
        and (operands[0] in function_ids and operands[1] == LINKAGE_ATTRIBUTES and operands[-1] == IMPORT)
    ]


def _text(words: tuple[int, ...]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()
