"""Intel's own rules, in the order in which they are tried before the general ones."""

from harness.codegen.layouts.distribution.distributor import VendorRule
from harness.codegen.layouts.distribution.intel.block_accesses import (
    distribute_block_read,
    distribute_block_write,
    is_block_read,
    is_block_write,
)
from harness.codegen.layouts.distribution.intel.prefetches import distribute_prefetch, is_prefetch

RULES = (
    VendorRule("vector.transfer_read", is_block_read, distribute_block_read),
    VendorRule("vector.transfer_write", is_block_write, distribute_block_write),
    VendorRule("memref.prefetch", is_prefetch, distribute_prefetch),
)
