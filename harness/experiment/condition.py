"""Conditions in an experiment, such as `seq <= 2048 and head_dim == 64`, read without `eval`.

A condition is a Python expression of comparisons, `and`, `or`, `not`, `in` and integer arithmetic over the
names that the caller gives; anything else is refused.  Values are spelled as in `[problem]`: a dtype
may have its long name, and a window's side −1 is unlimited.
"""

import ast
import functools
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from harness.problem.dtypes import short_name
from harness.system.validation import shortened, suggestion


def _equal(left: Any, right: Any) -> bool:
    """Return whether two values are the same; raises `TypeError` where a list can never be the other one."""
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return bool(left == right)
    if left is None or right is None:
        return False
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        raise TypeError(f"{_spelled(left)} and {_spelled(right)} are compared, expected two lists")
    return _plain_sides(left) == _plain_sides(right)


def _is_among(value: Any, values: Any) -> bool:
    """Return whether a value is one of a list, or a text part of a text; raises `TypeError` for neither."""
    if not isinstance(values, tuple | str):
        raise TypeError(f"{_spelled(values)} is no list")
    if not isinstance(value, tuple):
        return value in values
    return any(_equal(value, member) for member in values)


def _spelled(value: Any) -> str:
    return shortened(repr(list(value) if isinstance(value, tuple) else value))


def _plain_sides(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a list with None for −1, a window's two words for an unlimited side; no other list has −1."""
    return tuple(None if value == -1 else value for value in values)


COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _is_among,
    ast.NotIn: lambda value, values: not _is_among(value, values),
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
OPERATORS: tuple[type[ast.AST], ...] = (ast.boolop, ast.Not, ast.USub, *COMPARISONS, *ARITHMETIC)
EXPRESSIONS: tuple[type[ast.AST], ...] = (
    ast.BoolOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BinOp,
    ast.Tuple,
    ast.List,
)
ALLOWED_NODES: tuple[type[ast.AST], ...] = (*EXPRESSIONS, *OPERATORS, ast.Load)
"""What a condition may hold besides names and constants."""

WORDS = {"true": True, "false": False, "none": None}
"""TOML's spelling of constants, accepted beside Python's."""

EXPECTED = "expected comparisons joined by and, or, not, such as 'seq <= 2048 and head_dim == 64'"


def parse_condition(text: str, names: Collection[str]) -> ast.expr:
    """Return the syntax tree of a condition over `names`; raises `ValueError` for anything else."""
    return _parsed(text, tuple(names))


@functools.lru_cache(maxsize=64)
def _parsed(text: str, names: tuple[str, ...]) -> ast.expr:
    """Parse once what is asked of every problem of a sweep."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"cannot read {_quoted(text)}; {EXPECTED}") from error
    for node in ast.walk(tree):
        _check_node(node, text, names)
    return tree


def _quoted(text: str) -> str:
    return shortened(repr(text))


def _check_node(node: ast.AST, text: str, names: tuple[str, ...]) -> None:
    """Raise `ValueError` unless a condition may hold this node."""
    if isinstance(node, ast.Name):
        if node.id not in names and node.id not in WORDS:
            complaint = f"unknown name {_quoted(node.id)} in {_quoted(text)}{suggestion(node.id, names)}"
            raise ValueError(f"{complaint}; expected one of {', '.join(names)}, or a text in quotes")
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, int | float | str | bool | None):
            raise ValueError(f"unexpected constant in {_quoted(text)}; {EXPECTED}")
    elif not isinstance(node, ALLOWED_NODES):
        raise ValueError(f"unexpected {type(node).__name__} in {_quoted(text)}; {EXPECTED}")


def names_in(condition: ast.expr) -> set[str]:
    """Return the names that a parsed condition asks for, constants such as `true` left out."""
    return {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)} - set(WORDS)


def holds(condition: ast.expr, values: Mapping[str, Any]) -> bool:
    """Return whether a parsed condition is true of these values; raises `ValueError` without an answer."""
    try:
        return bool(_evaluate(condition, values))
    except (TypeError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"cannot evaluate {_quoted(ast.unparse(condition))}: {error}") from error


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant():
            return short_name(node.value)
        case ast.Name():
            return values[node.id] if node.id in values else WORDS[node.id]
        case ast.Tuple() | ast.List():
            return tuple(_evaluate(element, values) for element in node.elts)
        case ast.BoolOp(op=ast.And()):
            return all(_evaluate(operand, values) for operand in node.values)
        case ast.BoolOp():
            return any(_evaluate(operand, values) for operand in node.values)
        case ast.UnaryOp(op=ast.Not()):
            return not _evaluate(node.operand, values)
        case ast.UnaryOp():
            return -_number(node.operand, values)
        case ast.BinOp():
            return ARITHMETIC[type(node.op)](_number(node.left, values), _number(node.right, values))
        case ast.Compare():
            return _compare(node, values)
    raise ValueError(f"cannot evaluate {ast.unparse(node)!r}: unexpected {type(node).__name__}; {EXPECTED}")


def _number(node: ast.expr, values: Mapping[str, Any]) -> int | float:
    value = _evaluate(node, values)
    if not isinstance(value, int | float):
        raise TypeError(f"{ast.unparse(node)} is {value!r}, not a number")
    return value


def _compare(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    """Evaluate a chain of comparisons, `64 <= head_dim <= 128`."""
    left = _evaluate(node.left, values)
    for comparison, operand in zip(node.ops, node.comparators, strict=True):
        right = _evaluate(operand, values)
        if not COMPARISONS[type(comparison)](left, right):
            return False
        left = right
    return True
