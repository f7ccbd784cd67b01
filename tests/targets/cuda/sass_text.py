"""Disassembly as nvdisasm writes it, from instructions with their control codes: for tests."""

from collections.abc import Sequence
from dataclasses import dataclass

NO_FLAG = 7


@dataclass(frozen=True)
class Line:
    """An instruction as nvdisasm prints it, or a label if there is nothing but `label:`."""

    text: str
    stall: int = 1
    write: int = NO_FLAG
    read: int = NO_FLAG
    waits: tuple[int, ...] = ()

    @property
    def second_half(self) -> int:
        """The upper 64 bits of its encoding, control codes and nothing else."""
        mask = sum(1 << flag for flag in self.waits)
        return (self.stall | 1 << 4 | self.write << 5 | self.read << 8 | mask << 11) << 41


def disassembly(name: str, lines: Sequence[Line | str]) -> str:
    """Return the text of one function."""
    text = [
        f'\t.section\t.text.{name},"ax",@progbits',
        f"        .type           {name},@function",
        f".text.{name}:",
    ]
    address = 0
    for given in lines:
        line = Line(given) if isinstance(given, str) else given
        if line.text.endswith(":"):
            text.append(line.text)
            continue
        shown = f"        /*{address:04x}*/                   {line.text} ;"
        text.append(f"{shown:<90}/* 0x{0:016x} */")
        text.append(f"{'':<90}/* 0x{line.second_half:016x} */")
        address += 16
    return "\n".join(text) + "\n"
