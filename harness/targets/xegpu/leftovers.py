"""What must not be left of a dialect when its lowering has ended."""

from mlir import ir

from harness.errors import BuildError
from harness.ir.walk import operations_within

HIGHER = ("xegpu.", "xevm.", "gpu.warp_execute_on_lane_0")
"""How the names of operations begin that only a lowering knows."""


def require_lowered(module: ir.Module) -> None:
    """Raise `BuildError` with the names of operations that a lowering has left behind.

    Some of MLIR's passes for these dialects leave what they have no pattern for, and say nothing.
    """
    names = {found.operation.name for found in operations_within(module.operation)}
    left = [name for name in sorted(names) if name.startswith(HIGHER)]
    if left:
        raise BuildError(f"left behind by the lowering: {', '.join(left)}")
