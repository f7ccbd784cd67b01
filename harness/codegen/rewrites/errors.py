"""How a rewrite says that it cannot be done."""

from mlir import ir

from harness.system.errors import BuildError


class RewriteRefusedError(BuildError):
    """A rewrite that would change what is computed, or that is not known, with the operation and reason."""

    def __init__(self, operation: ir.OpView | ir.Operation, reason: str) -> None:
        super().__init__(f"{describe(operation)}: {reason}")


def describe(operation: ir.OpView | ir.Operation) -> str:
    """Return an operation's name and result types, `attn.softmax (tensor<4x8xf32>, …)`."""
    types = ", ".join(str(result.type) for result in list(operation.results)[:1])
    more = ", …" if len(operation.results) > 1 else ""
    return f"{operation.name} ({types}{more})" if types else operation.name
