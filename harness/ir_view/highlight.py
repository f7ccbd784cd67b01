"""Colours for IR on a terminal; pygments has lexers for LLVM IR and assembly, but none for MLIR."""

from typing import ClassVar

from pygments.lexer import Lexer, RegexLexer, bygroups  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

from harness.ir_view.stage_output import Language

SCALAR_TYPES = r"(?:index|none|bf16|tf32|[su]?i\d+|f\d+(?:E\d+M\d+\w*)?)"


class MlirLexer(RegexLexer):
    """MLIR in its custom and in its generic syntax."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    filenames: ClassVar[list[str]] = ["*.mlir"]

    tokens: ClassVar[dict[str, list[tuple[object, ...]]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"%[\w$.-]+(?:#\d+)?", Name.Variable),
            (r"@(?:[\w$.-]+|\"[^\"]*\")", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"#[A-Za-z_][\w$.]*", Name.Constant),
            (r"![A-Za-z_][\w$.]*", Keyword.Type),
            (r"(\d+|\?)(x)(?=[\d?A-Za-z!])", bygroups(Number, Punctuation)),
            (r"0x[0-9A-Fa-f]+", Number.Hex),
            (r"-?\d+\.\d*(?:[eE][+-]?\d+)?", Number.Float),
            (r"-?\d+", Number.Integer),
            (rf"{SCALAR_TYPES}\b", Keyword.Type),
            (r"(?:tensor|memref|vector|complex|tuple|strided)\b(?=<)", Keyword.Type),
            (r"[A-Za-z_]\w*(?:\.\w+)+", Keyword),
            (r"(?:true|false|dense|unit)\b", Keyword.Constant),
            (r"[A-Za-z_][\w$]*", Name.Attribute),
            (r"->|::|==|>=|<=|[=*+?/|-]", Operator),
            (r"[()\[\]{}<>,:;.]", Punctuation),
            (r".", Text),
        ]
    }


def lexer_for(language: Language) -> Lexer | None:
    """Return what colours a language, or None for plain text."""
    if language is Language.MLIR:
        return MlirLexer()
    if language is Language.LLVM_IR:
        return get_lexer_by_name("llvm")
    if language is Language.ASSEMBLY:
        return get_lexer_by_name("gas")
    if language is Language.PTX:
        return get_lexer_by_name("ptx")
    return None
