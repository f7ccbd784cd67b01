"""What each operation of the IR executes, by name, one module for each group of operations."""

from harness.codegen.costs.operations.arithmetic import ARITHMETIC
from harness.codegen.costs.operations.control import CONTROL
from harness.codegen.costs.operations.structured import STRUCTURED
from harness.codegen.costs.operations.tensors import TENSORS
from harness.codegen.costs.operations.vectors import VECTORS
from harness.codegen.costs.walk import Handler

OPERATIONS: dict[str, Handler] = {**ARITHMETIC, **CONTROL, **STRUCTURED, **TENSORS, **VECTORS}
"""All operations that can be counted."""
