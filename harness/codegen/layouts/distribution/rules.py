"""The general rules by the names of the operations that they distribute, and a vendor's before them."""

from collections.abc import Mapping, Sequence

from mlir import ir

from harness.codegen.layouts.analysis import CONVERSION
from harness.codegen.layouts.constraints import ELEMENTWISE, is_vector
from harness.codegen.layouts.distribution.distributor import (
    Distributor,
    Rule,
    RuleOf,
    VendorRule,
    copy_scalar_operation,
)
from harness.codegen.layouts.distribution.elementwise import (
    distribute_broadcast,
    distribute_constant,
    distribute_conversion,
    distribute_elementwise,
    distribute_transpose,
)
from harness.codegen.layouts.distribution.loops import distribute_condition, distribute_loop
from harness.codegen.layouts.distribution.memory import distribute_read, distribute_write
from harness.codegen.layouts.distribution.products import distribute_contraction
from harness.codegen.layouts.distribution.reductions import distribute_lane_sum, distribute_reduction
from harness.system.errors import BuildError

GENERAL: Mapping[str, Rule] = {
    "arith.constant": distribute_constant,
    "gpu.subgroup_reduce": distribute_lane_sum,
    CONVERSION: distribute_conversion,
    "scf.for": distribute_loop,
    "scf.if": distribute_condition,
    "vector.broadcast": distribute_broadcast,
    "vector.contract": distribute_contraction,
    "vector.multi_reduction": distribute_reduction,
    "vector.transfer_read": distribute_read,
    "vector.transfer_write": distribute_write,
    "vector.transpose": distribute_transpose,
}


def rules_with(vendor: Sequence[VendorRule]) -> RuleOf:
    """Return the choice of a rule: one of a vendor before the general ones.

    Operations that have no rule and no vectors are copied; it raises `BuildError` for others.
    """

    def rule_of(distributor: Distributor, operation: ir.OpView) -> Rule:
        for own in vendor:
            if own.operation == operation.name and own.applies(distributor, operation):
                return own.distribute
        if operation.name in GENERAL:
            return GENERAL[operation.name]
        if not any(is_vector(value) for value in (*operation.operands, *operation.results)):
            return copy_scalar_operation
        if not operation.name.startswith(ELEMENTWISE):
            raise BuildError(f"{operation.name} cannot be distributed to lanes")
        return distribute_elementwise

    return rule_of
