"""What a stage of a build left behind: its text, and which operations are in it."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from harness.system.errors import InputError

if TYPE_CHECKING:
    from mlir import ir

    from harness.api import BuiltArtifact


class Language(Enum):
    """What a stage's output is written in; the value is its usual file suffix."""

    MLIR = ".mlir"
    LLVM_IR = ".ll"
    ASSEMBLY = ".s"
    PTX = ".ptx"
    SPIRV = ".spvasm"
    OTHER = ""

    @classmethod
    def of(cls, file: str) -> "Language":
        """Return the language of a file by its suffix."""
        suffix = PurePath(file).suffix
        suffix = OTHER_SUFFIXES.get(suffix, suffix)
        return next((language for language in cls if language.value == suffix), cls.OTHER)


OTHER_SUFFIXES = {".rocmasm": Language.ASSEMBLY.value}
"""What is written like something that has another suffix."""


MLIR_OPERATION = re.compile(r'^\s*(?:%[^=]*=\s*)?"?([a-z_][\w]*(?:\.[\w$]+)+)', re.MULTILINE)
"""An operation that begins a line; for IR with dialects that the bindings cannot parse."""

INSTRUCTIONS = {
    Language.LLVM_IR: re.compile(
        r"^[ \t]+(?:%[\w.]+\s*=\s*)?(?:tail |musttail |notail )?([a-z]+)\b", re.MULTILINE
    ),
    Language.ASSEMBLY: re.compile(r"^[ \t]+([a-z]\w*)\b(?!:)", re.MULTILINE),
    Language.SPIRV: re.compile(r"^[ \t]*(?:%\w+\s*=\s*)?(Op[A-Z]\w*)", re.MULTILINE),
    Language.PTX: re.compile(r"^[ \t]*(?:@!?%\w+[ \t]+)?([a-z][\w.]*)(?=[ \t;])", re.MULTILINE),
}


@dataclass(frozen=True)
class StageOutput:
    """One stage of a build."""

    name: str
    language: Language
    text: str | None
    """None where the output is binary."""
    seconds: float | None
    """Build time; None where it was not measured."""
    file: str = ""
    data: bytes = b""

    @property
    def lines(self) -> int | None:
        """Number of lines of the text."""
        return None if self.text is None else len(self.text.splitlines())

    @cached_property
    def operations(self) -> Counter[str]:
        """How often each operation, or instruction, stands in the text."""
        if self.text is None:
            return Counter()
        if self.language is Language.MLIR:
            return _mlir_operations(self.text)
        pattern = INSTRUCTIONS.get(self.language)
        return Counter() if pattern is None else Counter(pattern.findall(self.text))

    def is_comparable_with(self, previous: "StageOutput") -> bool:
        """Whether both are text, in one language."""
        return self.language is previous.language and self.text is not None

    def changes_from(self, previous: "StageOutput") -> Counter[str] | None:
        """Return how many of each operation there are more, or fewer; None between two languages."""
        if not self.is_comparable_with(previous):
            return None
        names = self.operations.keys() | previous.operations.keys()
        changes = {name: self.operations[name] - previous.operations[name] for name in names}
        return Counter({name: change for name, change in sorted(changes.items()) if change})


def stage_outputs(built: "BuiltArtifact") -> list[StageOutput]:
    """Return all stages of a build, in order."""
    return [_output(built, name, file) for name, file in built.artifact.stage_files.items()]


def _output(built: "BuiltArtifact", name: str, file: str) -> StageOutput:
    text, data = None, b""
    try:
        text = built.stage(name)
    except InputError:
        with suppress(OSError):
            data = (built.folder / file).read_bytes()
    return StageOutput(name, Language.of(file), text, built.artifact.stage_seconds.get(name), file, data)


def _mlir_operations(text: str) -> Counter[str]:
    """Count the operations of a module, with its own name left out."""
    from mlir import ir

    from harness.codegen.dialect.context import mlir_context

    with mlir_context() as context:
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return Counter(MLIR_OPERATION.findall(text))
        return Counter(_names(module.operation))


def _names(operation: "ir.Operation | ir.OpView") -> Iterator[str]:
    """Yield the names of all nested operations, but not of bodies that named operations do not show."""
    for region in operation.regions:
        for block in region.blocks:
            for nested in block.operations:
                name = nested.operation.name
                yield name
                if not name.startswith("linalg.") or name in SHOWN_BODIES:
                    yield from _names(nested)


SHOWN_BODIES = ("linalg.generic", "linalg.map", "linalg.reduce")
"""Structured operations whose bodies are part of the text."""
