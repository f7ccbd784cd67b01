"""XOR swizzles of shared memory: bits of the row are added to bits of the column, so that banks differ.

The rows of a tile begin in the same bank where each fills all banks, once or more often.  A swizzle is a
linear map of addresses that permutes each row, differently from its neighbours: lanes that access one column
of several rows find it in different banks, and nothing is padded.
"""

from harness.layouts.linear_map import LinearMap, identity


def xor_swizzle(bits: int, *, column: int, row: int, count: int) -> LinearMap:
    """Return the map of addresses that adds `count` bits from bit `row` on to those from bit `column` on.

    It is its own inverse.  On addresses of bytes, `column=4, row=7, count=3` permutes the 8 pieces of 16
    bytes in each 128 bytes, which are all banks once; fewer bits permute pieces of shorter rows.

    Raises `ValueError` where the bits overlap or are more than an address has.
    """
    if min(column, row, count) < 0 or max(column, row) + count > bits:
        raise ValueError(f"addresses of {bits} bits do not have {count} bits from {column} and {row} on")
    if abs(column - row) < count:
        raise ValueError(f"{count} bits from {row} on overlap those from {column} on that they are added to")
    mask = (1 << count) - 1
    added = ((1 << bit) >> row & mask for bit in range(bits))
    return identity(bits) + LinearMap(tuple(number << column for number in added))


def bank_passes(addresses: LinearMap, banks: LinearMap) -> int:
    """Return how many passes an access takes for the lanes that memory serves at once.

    Args:
        addresses: the word that each lane accesses, a map of the bits of its number.
        banks: the bank of each word.

    Lanes that access one word are served together; other words of one bank one after another.  There are
    2^rank words, and as many in each bank that has any.
    """
    return 1 << addresses.rank - (banks @ addresses).rank
