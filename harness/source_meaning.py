"""Whether an edited source means what a module is in memory: by its functions, whose code is compared.

`%autoreload` of IPython 9 puts the new code of edited functions into a module without loading it again.
"""

import ast
import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def means_what_is_imported(module: object, imported: bytes, source: bytes) -> bool:
    """Return whether a source is that which a module was imported from, but for comments and layout.

    Functions may be others, where the module has their code, and does not name them outside of functions: it
    may have called them as it was imported.
    """
    try:
        old, new = _parts(imported), _parts(source)
        if ast.dump(old.rest) != ast.dump(new.rest):
            return False
        edited = [name for name, bodies in new.functions.items() if old.functions[name] != bodies]
        forms = [_codes(code) for code in (_compiled_forms(source) if edited else ())]
    except (SyntaxError, ValueError, RecursionError):
        return False
    named = _names(new.rest) if edited else set()
    return all(
        len(new.functions[name]) == 1
        and name.rpartition(".")[2] not in named
        and any(_plain(_code_in(module, name)) == _plain(codes.get(name)) for codes in forms)
        for name in edited
    )


def compiled(source: bytes) -> CodeType:
    """Return the code of a module's source; raises `SyntaxError` or `ValueError` for what is none."""
    code: CodeType = compile(source, "<source>", "exec", dont_inherit=True)
    return code


def _compiled_forms(source: bytes) -> list[CodeType]:
    """Return the code of a source, and that of it without its imports, of which Python makes other calls.

    The latter is that of a function which is compiled by itself.
    """
    tree = ast.parse(source)
    tree.body = [each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    alone: CodeType = compile(tree, "<source>", "exec", dont_inherit=True)
    return [compiled(source), alone]


@dataclass(frozen=True)
class _Parts:
    """What a source means."""

    rest: ast.Module
    """All of it but for the bodies of functions."""
    functions: dict[str, list[str]]
    """The bodies of functions of each qualified name."""


def _parts(source: bytes) -> _Parts:
    tree = ast.parse(source)
    bodies: dict[str, list[str]] = {}
    for name, function in _functions(tree.body, ""):
        bodies.setdefault(name, []).append(" ".join(map(ast.dump, function.body)))
        function.body = []
    return _Parts(tree, bodies)


def _names(tree: ast.Module) -> set[str]:
    """Return the names that code uses, and those of attributes."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    """Yield the functions of a module, and the methods of its classes, with their qualified names."""
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield f"{prefix}{statement.name}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}.")


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Return the code of all functions and classes in a module's code, by qualified names."""
    found: dict[str, CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= {constant.co_qualname: constant, **_codes(constant)}
    return found


def _code_in(module: object, name: str) -> CodeType | None:
    """Return the code that a function of this qualified name has in a module, None where that is not seen."""
    found = module
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    elif isinstance(found, property):
        found = found.fget
    elif isinstance(found, functools.cached_property):
        found = found.func
    code = getattr(inspect.unwrap(found), "__code__", None) if callable(found) else None
    return code if isinstance(code, CodeType) else None


def _plain(code: CodeType | None) -> CodeType | object:
    """Return code without the lines that it stands in; of none what is equal to nothing."""
    if code is None:
        return object()
    constants = tuple(_plain(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_consts=constants)
