"""The main loop of a kernel for AMD's GPUs, as assembly, and how many instructions it has."""

import re

from harness.targets.rocm.code_object import instruction_classes

LABEL = re.compile(r"^(\.LBB\w+):")
BRANCH = re.compile(r"^\s+s_c?branch\w*\s+(\.LBB\w+)")
MATRIX_INSTRUCTION = re.compile(r"^\s+v_(?:mfma|wmma)_")


def main_loop(assembly: str) -> str:
    """Return the lines of the loop that has the most matrix instructions."""
    lines = assembly.splitlines()
    starts: dict[str, int] = {}
    loops = []
    for number, line in enumerate(lines):
        label, branch = LABEL.match(line), BRANCH.match(line)
        if label is not None:
            starts[label[1]] = number
        elif branch is not None and branch[1] in starts:
            loops.append(lines[starts[branch[1]] : number + 1])
    return "\n".join(max(loops, key=lambda loop: sum(map(bool, map(MATRIX_INSTRUCTION.match, loop)))))


def counted(assembly: str) -> tuple[int, int]:
    """Return the matrix instructions of the main loop, and all others."""
    classes = instruction_classes(main_loop(assembly))
    return classes["matrix"], sum(classes.values()) - classes["matrix"]
