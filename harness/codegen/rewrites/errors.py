"""How a rewrite says that it cannot be done."""

from mlir import ir

from harness.system.errors import BuildError


class RewriteRefusedError(BuildError):
    """A rewrite that would change what is computed, or that is not known, with the operation and reason."""

    def __init__(self, operation: ir.OpView | ir.Operation, reason: str) -> None:
        types = [str(result.type) for result in operation.results]
        of_results = f" ({types[0]}{', …' if types[1:] else ''})" if types else ""
        super().__init__(f"{operation.name}{of_results}: {reason}")
