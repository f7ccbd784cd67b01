"""What each operation of the IR executes, by name, one module for each group of operations."""

from harness.costs.operations.arithmetic import ARITHMETIC
from harness.costs.operations.control import CONTROL
from harness.costs.operations.integers import INTEGERS
from harness.costs.operations.structured import STRUCTURED
from harness.costs.operations.tensors import TENSORS
from harness.costs.operations.vectors import VECTORS
from harness.costs.walk import Handler

OPERATIONS: dict[str, Handler] = {**INTEGERS, **ARITHMETIC, **CONTROL, **STRUCTURED, **TENSORS, **VECTORS}
"""All operations that can be counted."""
