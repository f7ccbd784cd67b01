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

LEXERS = {Language.LLVM_IR: "llvm", Language.ASSEMBLY: "gas", Language.PTX: "ptx"}
"""Names that pygments knows."""
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
    name = LEXERS.get(language)
    return None if name is None else get_lexer_by_name(name)
