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


def instructions(image: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield opcode and operands, as words, of each instruction in order."""
    words = struct.unpack(f"<{len(image) // WORD_BYTES}I", image)
    at = HEADER_WORDS
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + length]
        at += length


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
