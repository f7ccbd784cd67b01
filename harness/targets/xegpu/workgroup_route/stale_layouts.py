"""What the passes for sub-groups leave of layouts, and those for lanes do not take.

Blocking keeps `inst_data` and `order` though values now are single instructions'.  The pass that propagates
layouts of lanes meets them as if they held for something larger, so that it gets only the lanes' layouts of
descriptors and finds all others anew.
"""

import re

from mlir import ir

from harness.ir.walk import operations_within

STALE_FIELDS = re.compile(r"inst_data = \[[\d, ]+\], |, order = \[\d, \d\]")
DESCRIPTOR = "!xegpu.tensor_desc"


def drop_stale_layouts(kernel: ir.OpView) -> None:
    """Drop layouts of operations, and what descriptors say of instructions and order, in place."""
    for operation in operations_within(kernel):
        for name in list(operation.attributes):
            if name == "layout" or name.startswith("layout_"):
                del operation.attributes[name]
        for result in operation.results:
            if str(result.type).startswith(DESCRIPTOR):
                result.set_type(ir.Type.parse(STALE_FIELDS.sub("", str(result.type))))
