"""NVIDIA's disassembler, where it is installed: which machine instructions a kernel consists of.

Names: CUDA Binary Utilities, "Instruction Set Reference".
"""

import functools
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.system.processes.programs import run_program
from harness.system.toolchains.nvidia import program

TIME_LIMIT_S = 60.0

INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9]*)", re.MULTILINE)

CLASSES = {
    "matrix": re.compile(r"[HIDBQ]G?MMA|UTC\w*MMA|WARPGROUP"),
    "special": re.compile(r"MUFU"),
    "float": re.compile(r"[FHD](?:ADD|MUL|FMA|MNMX|SET|SETP|SEL|CHK|SWZADD)\w*|FRND"),
    "convert": re.compile(r"[FI]2[FIP]P?\w*"),
    "local": re.compile(r"LDL|STL"),
    "shared": re.compile(r"LDS|STS|LDSM|STSM|ATOMS"),
    "copy": re.compile(r"LDGSTS|LDGDEPBAR|UTMA\w*|UBLK\w*"),
    "global": re.compile(r"LDG|STG|LD|ST|ATOMG?|RED"),
    "shuffle": re.compile(r"SHFL|VOTEU?|MATCH|REDUX|MOVM"),
    "barrier": re.compile(r"BAR|DEPBAR|WARPSYNC|MEMBAR|ERRBAR|NANOSLEEP|SYNCS|FENCE\w*"),
    "branch": re.compile(r"BRA|BRX|JMP\w*|CALL|RET|EXIT|BSSY|BSYNC|BREAK|BMOV|KILL|YIELD|BPT"),
    "constant": re.compile(r"U?LDC\w*"),
    "none": re.compile(r"NOP"),
}
"""Classes of instructions by name, the first that matches; what is in none computes with integers, moves or
selects.  `local` is memory of a lane's own, where registers are spilled to."""

REST = "integer"


def disassembled(cubin: bytes) -> str | None:
    """Return machine code as text, each instruction with its encoding.

    None where there is no disassembler, or it does not know the code.
    """
    disassembler = program("nvdisasm")
    if disassembler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.cubin")
        file.write_bytes(cubin)
        command = [disassembler, "--print-code", "--no-dataflow", "--print-instruction-encoding", str(file)]
        try:
            done = run_program(command, TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
    return done.stdout if done.returncode == 0 else None


def counted(disassembly: str) -> dict[str, int]:
    """Return how many instructions of each class a disassembly lists."""
    counts = Counter(map(class_of, INSTRUCTION.findall(disassembly)))
    return {name: counts[name] for name in [*CLASSES, REST] if counts[name]}


def together(counts: Iterable[Mapping[str, int] | None]) -> dict[str, int]:
    """Return the sums over several kernels; empty unless all are known."""
    total: Counter[str] = Counter()
    for of_kernel in counts:
        if of_kernel is None:
            return {}
        total.update(of_kernel)
    return dict(total)


@functools.cache
def class_of(name: str) -> str:
    """Return the class of an opcode without its modifiers, `matrix` of `HMMA`."""
    return next((class_name for class_name, pattern in CLASSES.items() if pattern.fullmatch(name)), REST)
