"""NVIDIA's own rules, in the order in which they are tried before the general ones."""

from harness.codegen.layouts.distribution.distributor import VendorRule
from harness.codegen.layouts.distribution.nvidia.asynchronous_copies import (
    distribute_copy,
    is_asynchronous_copy,
    is_only_copied,
    leave_to_the_copy,
)
from harness.codegen.layouts.distribution.nvidia.matrix_reads import distribute_matrix_read, is_matrix_read

RULES = (
    VendorRule("vector.transfer_read", is_only_copied, leave_to_the_copy),
    VendorRule("vector.transfer_read", is_matrix_read, distribute_matrix_read),
    VendorRule("vector.transfer_write", is_asynchronous_copy, distribute_copy),
)
