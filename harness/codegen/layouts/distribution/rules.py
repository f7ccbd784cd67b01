"""The general rules by the names of the operations that they distribute, and a vendor's before them."""

from collections.abc import Mapping, Sequence

from harness.codegen.layouts.analysis import CONVERSION
from harness.codegen.layouts.distribution.distributor import Rule, Rules, VendorRule
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


def rules_with(vendor: Sequence[VendorRule]) -> Rules:
    """Return the general rules, before which those of a vendor are tried."""
    return Rules(GENERAL, distribute_elementwise, tuple(vendor))
