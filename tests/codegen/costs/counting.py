"""Counting IR given as text."""

from typing import Any

from mlir import ir

from harness.codegen.costs.costs import Costs, Traffic, total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context


def costs_of(text: str, **inputs: Any) -> Costs:
    """Return the costs of all kernels of a module."""
    with mlir_context():
        return total(count(ir.Module.parse(text), **inputs))


def kernel(signature: str, body: str, returns: str = "", before: str = "") -> str:
    """Return a module with one kernel `@f`."""
    arrow = f" -> {returns}" if returns else ""
    end = "" if "\nreturn" in body else "\nreturn"
    return f"{before}\nfunc.func @f({signature}){arrow} {{\n{body}{end}\n}}"


def read(number: int) -> Traffic:
    return Traffic(read=number)


def written(number: int) -> Traffic:
    return Traffic(written=number)
