"""Small changes to LLVM IR text, one instruction at a time.

An edit says by a regular expression which instructions it is for, which one of them it changes (`nth`, from
0) and how many of them there must be (`of`): a changed compiler makes it fail instead of changing something
else.  Only lines within functions are instructions.
"""

import re
from collections.abc import Callable

Edit = Callable[[str], str]
"""Text of a module to text of a module."""


def each(*edits: Edit) -> Edit:
    """Make several edits, one after another."""

    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


def dropped(pattern: str, nth: int = 0, of: int = 1) -> Edit:
    """Leave an instruction out."""
    return _line_edit(pattern, nth, of, lambda _, match: [])


def replaced(pattern: str, replacement: str, nth: int = 0, of: int = 1) -> Edit:
    """Replace what matches by an expansion (`\\1` for the first group); it may be several lines."""

    def change(line: str, match: re.Match[str]) -> list[str]:
        changed = line[: match.start()] + match.expand(replacement) + line[match.end() :]
        assert changed != line, f"{pattern}: nothing changes in {line!r}"
        return changed.split("\n")

    return _line_edit(pattern, nth, of, change)


def replaced_everywhere(old: str, new: str, of: int) -> Edit:
    """Replace a string wherever it stands, declarations and globals included."""

    def edit(text: str) -> str:
        count = text.count(old)
        assert count == of, f"{old}: {count} times; expected {of}"
        return text.replace(old, new)

    return edit


def swapped_operands(pattern: str, first: int, second: int, nth: int = 0, of: int = 1) -> Edit:
    """Exchange two operands of a call, by their positions."""

    def change(operands: list[str]) -> None:
        assert operands[first] != operands[second], f"{pattern}: both operands are {operands[first]}"
        operands[first], operands[second] = operands[second], operands[first]

    return _operand_edit(pattern, nth, of, change)


def with_operand(pattern: str, position: int, operand: str, nth: int = 0, of: int = 1) -> Edit:
    """Give a call another operand (type and value)."""

    def change(operands: list[str]) -> None:
        assert operands[position] != operand, f"{pattern}: the operand is {operand} already"
        operands[position] = operand

    return _operand_edit(pattern, nth, of, change)


def moved_behind(pattern: str, target: str, nth: int = 0, of: int = 1, target_nth: int = 0) -> Edit:
    """Move an instruction behind the `target_nth` match of another pattern that follows it."""

    def edit(text: str) -> str:
        lines = text.split("\n")
        start = _chosen(lines, pattern, nth, of)
        moved = lines.pop(start)
        behind = [
            i for i in range(start, len(lines)) if _is_instruction(lines[i]) and re.search(target, lines[i])
        ]
        lines.insert(behind[target_nth] + 1, moved)
        return "\n".join(lines)

    return edit


def with_function(definition: str) -> Edit:
    """Add a function to the module."""
    return lambda text: f"{text}\n{definition}\n"


def without_rescale(kind: str, nth: int, of: int) -> Edit:
    """Let an accumulator of a loop, a φ that begins as zeros, go on unscaled."""

    def edit(text: str) -> str:
        start = re.escape(f"phi <{kind}> [ zeroinitializer")
        accumulators = re.findall(rf"^  (%\S+) = {start}", text, re.MULTILINE)
        names = "|".join(map(re.escape, accumulators))
        return replaced(
            rf"= fmul <{kind}> ({names}), %\S+", rf"= fadd <{kind}> \1, zeroinitializer", nth, of
        )(text)

    return edit


def _line_edit(pattern: str, nth: int, of: int, change: Callable[[str, re.Match[str]], list[str]]) -> Edit:
    def edit(text: str) -> str:
        lines = text.split("\n")
        index = _chosen(lines, pattern, nth, of)
        match = re.search(pattern, lines[index])
        assert match is not None
        lines[index : index + 1] = change(lines[index], match)
        return "\n".join(lines)

    return edit


def _operand_edit(pattern: str, nth: int, of: int, change: Callable[[list[str]], None]) -> Edit:
    def change_line(line: str, match: re.Match[str]) -> list[str]:
        start = line.index("(", line.index("@")) + 1
        operands = _operands(line[start:])
        end = start + len(", ".join(operands))
        change(operands)
        return [f"{line[:start]}{', '.join(operands)}{line[end:]}"]

    return _line_edit(pattern, nth, of, change_line)


def _operands(text: str) -> list[str]:
    """Return the operands up to the closing parenthesis; some have commas and parentheses of their own."""
    operands, depth = [""], 0
    for character in text:
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            operands.append("")
        else:
            operands[-1] += character
    return [operand.strip() for operand in operands]


def _is_instruction(line: str) -> bool:
    return line.startswith("  ")


def _chosen(lines: list[str], pattern: str, nth: int, of: int) -> int:
    found = [i for i, line in enumerate(lines) if _is_instruction(line) and re.search(pattern, line)]
    assert len(found) == of, f"{pattern}: {len(found)} instructions; expected {of}"
    return found[nth]
