"""Emits a module of SPIR-V once: `python -m harness.system.toolchains.emit_spirv SOURCE TARGET text|words`.

SOURCE has LLVM IR.  A new process has its data at other addresses, by which LLVM numbers labels: see
`harness.system.toolchains.intel`.
"""

import sys
from pathlib import Path

from harness.system.toolchains.intel import TEXT, WORDS, opened


def main(source: str, target: str, form: str) -> None:
    """Write what is emitted to a file, whatever its numbers."""
    machine, module = opened(Path(source).read_text(encoding="utf-8"))
    if form == TEXT.name:
        Path(target).write_text(TEXT.emit(machine, module), encoding="utf-8")
    else:
        Path(target).write_bytes(WORDS.emit(machine, module))


if __name__ == "__main__":
    main(*sys.argv[1:])
