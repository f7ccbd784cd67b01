"""Where things stand among the operands of vector transfers."""

FIRST_INDEX = {"vector.transfer_read": 1, "vector.transfer_write": 2}
"""The number of a transfer's first index operand; the operand before it is the buffer."""
