"""Files of IR whose first line says what is applied to it and whose CHECK lines say what comes of it."""

from collections.abc import Callable
from pathlib import Path

from codegen.payloads.ir_checks import check_ir
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder, in order."""
    return sorted(folder.glob("*.mlir"))


def first_line(path: Path, keyword: str) -> list[str]:
    """Return the words that follow `// KEYWORD:` in the first line of a file."""
    line = path.read_text().partition("\n")[0]
    start = f"// {keyword}: "
    assert line.startswith(start), f"{path.name}: the first line is {line!r}; expected {start!r} and more"
    return line.removeprefix(start).split()


def check_file(path: Path, apply: Callable[[ir.Module], object]) -> None:
    """Assert that what is applied to a file's IR makes valid IR that meets the file's CHECK lines."""
    text = path.read_text()
    with mlir_context():
        module = ir.Module.parse(text)
        apply(module)
        verify(module)
        check_ir(module, text)
