"""Conditions in an experiment, such as `seq <= 2048 and head_dim == 64`.

A condition is a Python expression of comparisons, `and`, `or`, `not`, `in` and integer arithmetic over the
names that the caller gives.  Anything else is refused before Python evaluates it: results of others hold
conditions, too.  Values are spelled as in `[problem]`: a dtype may have its long name, and a window's side
−1 is unlimited.
"""

import ast
import functools
from collections.abc import Collection, Mapping
from types import CodeType
from typing import Any

from harness.problem.dtypes import short_name
from harness.system.validation import shortened, suggestion

ALLOWED_NODES: tuple[type[ast.AST], ...] = (
    *(ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.UnaryOp, ast.Not, ast.USub, ast.Load),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Tuple),
)

WORDS = {"true": True, "false": False, "none": None}
"""TOML's spelling of constants, accepted beside Python's."""

EXPECTED = "expected comparisons joined by and, or, not, such as 'seq <= 2048 and head_dim == 64'"
UNEQUAL = "seq is of queries and keys of one length; where lengths differ, ask for seq_q or seq_kv"


def parse_condition(text: str, names: Collection[str]) -> CodeType:
    """Return the code of a condition over `names`; raises `ValueError` for anything else."""
    return _parsed(text, tuple(names))


def names_in(condition: CodeType) -> set[str]:
    """Return the names that a parsed condition asks for, constants such as `true` left out."""
    return set(condition.co_names)


def holds(condition: CodeType, values: Mapping[str, Any]) -> bool:
    """Return whether a parsed condition is true of these values; raises `ValueError` without an answer."""
    lists = {name: _List(value) if isinstance(value, tuple) else value for name, value in values.items()}
    try:
        return bool(eval(condition, {"__builtins__": {}}, lists))
    except (TypeError, ZeroDivisionError, OverflowError, MemoryError) as error:
        is_unequal = "seq" in names_in(condition) and values.get("seq") is None
        reason = UNEQUAL if is_unequal else str(error)
        raise ValueError(f"cannot evaluate {_quoted(condition.co_filename)}: {reason}") from error


@functools.lru_cache(maxsize=64)
def _parsed(text: str, names: tuple[str, ...]) -> CodeType:
    """Parse once what is asked of every problem of a sweep."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        tree.body = _Checked(text, names).visit(tree.body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read {_quoted(text)}; {EXPECTED}") from error
    return compile(ast.fix_missing_locations(tree), text, "eval")


def _quoted(text: str) -> str:
    return shortened(repr(text))


class _List(tuple[Any, ...]):
    """A list of a problem; one that is compared with anything else but none is a mistake."""

    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        if other is not None and not isinstance(other, tuple):
            raise TypeError(f"{list(self)} and {other!r} are compared, expected two lists")
        return other is not None and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class _Checked(ast.NodeTransformer):
    """Refuses what no condition holds, and spells values as problems do."""

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self._text = text
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._names:
            return node
        if node.id in WORDS:
            return ast.Constant(WORDS[node.id])
        complaint = (
            f"unknown name {_quoted(node.id)} in {_quoted(self._text)}{suggestion(node.id, self._names)}"
        )
        raise ValueError(f"{complaint}; expected one of {', '.join(self._names)}, or a text in quotes")

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, int | float | str | bool | None):
            raise ValueError(f"unexpected constant in {_quoted(self._text)}; {EXPECTED}")
        return ast.Constant(short_name(node.value))

    def visit_List(self, node: ast.List) -> ast.expr:
        return self.visit_Tuple(ast.Tuple(node.elts, node.ctx))

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """Spell −1, a window's other word for an unlimited side, as None; no other list has it."""
        elements = [
            ast.Constant(None) if ast.unparse(part) == "-1" else self.visit(part) for part in node.elts
        ]
        return ast.Tuple(elements, node.ctx)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ALLOWED_NODES):
            raise ValueError(f"unexpected {type(node).__name__} in {_quoted(self._text)}; {EXPECTED}")
        return super().generic_visit(node)
