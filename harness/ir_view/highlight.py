"""Colours for IR on a terminal; pygments has lexers for LLVM IR and assembly, but none for MLIR."""

from typing import ClassVar

from pygments.lexer import Lexer, inherit  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.lexers.asm import LlvmLexer  # type: ignore[import-untyped]
from pygments.token import Comment, Keyword, Punctuation  # type: ignore[import-untyped]

from harness.ir_view.stage_output import Language

LEXERS = {Language.LLVM_IR: "llvm", Language.ASSEMBLY: "gas", Language.PTX: "ptx"}
"""Names that pygments knows."""


class MlirLexer(LlvmLexer):
    """MLIR has the values, numbers and texts of LLVM IR, and operations, types and comments of its own."""

    name = "MLIR"
    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"//.*", Comment.Single),
            (r"[A-Za-z_]\w*(?:\.\w+)+", Keyword),
            inherit,
            (r"[A-Za-z_][\w$]*", Keyword.Type),
            (r"[^\s\w]", Punctuation),
        ]
    }


def lexer_for(language: Language) -> Lexer | None:
    """Return what colours a language, or None for plain text."""
    if language is Language.MLIR:
        return MlirLexer()
    name = LEXERS.get(language)
    return None if name is None else get_lexer_by_name(name)
