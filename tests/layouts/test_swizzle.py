"""XOR swizzles: what they permute, and the bank conflicts that they leave."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.layouts.linear_map import LinearMap, identity
from harness.layouts.swizzle import bank_passes, xor_swizzle

BITS = 10
"""Of an address in a tile of 8 rows of 128 bytes."""

WORD_BITS, BANK_BITS = 2, 5
BANKS = LinearMap(tuple(1 << bit if bit < BANK_BITS else 0 for bit in range(BITS - WORD_BITS)))
WORDS = LinearMap((0,) * WORD_BITS + identity(BITS - WORD_BITS).images)
ROWS = LinearMap(tuple(1 << 7 + bit for bit in range(3)))
"""8 lanes access the first column of 8 rows."""

SWIZZLE = xor_swizzle(BITS, column=4, row=7, count=3)


def enumerated_passes(addresses: list[int]) -> int:
    """Return the most words that lanes access in one of 32 banks of 4 bytes."""
    words: dict[int, set[int]] = defaultdict(set)
    for address in addresses:
        words[address // 4 % 32].add(address // 4)
    return max(map(len, words.values()))


def test_each_row_is_permuted_by_its_number() -> None:
    """Pieces of 16 bytes of row r go to piece p XOR r."""
    for row in range(8):
        for piece in range(8):
            for byte in (0, 15):
                assert SWIZZLE(row * 128 + piece * 16 + byte) == row * 128 + (piece ^ row) * 16 + byte


@given(st.integers(0, 4), st.integers(0, 3))
def test_a_swizzle_is_its_own_inverse(column: int, count: int) -> None:
    swizzle = xor_swizzle(BITS, column=column, row=column + count, count=count)
    assert swizzle @ swizzle == identity(BITS)
    assert swizzle.inverse() == swizzle


def test_a_column_of_rows_of_all_banks_is_in_one_bank_without_a_swizzle() -> None:
    assert bank_passes(WORDS @ ROWS, BANKS) == 8


def test_a_column_of_swizzled_rows_is_in_different_banks() -> None:
    assert bank_passes(WORDS @ SWIZZLE @ ROWS, BANKS) == 1


@pytest.mark.parametrize(("count", "passes"), [(0, 8), (1, 4), (2, 2), (3, 1)])
def test_each_bit_of_a_swizzle_halves_the_conflicts(count: int, passes: int) -> None:
    swizzle = xor_swizzle(BITS, column=4, row=7, count=count)
    assert bank_passes(WORDS @ swizzle @ ROWS, BANKS) == passes


def test_a_row_stays_without_conflicts() -> None:
    along = LinearMap(tuple(4 << bit for bit in range(5)))
    assert bank_passes(WORDS @ SWIZZLE @ along, BANKS) == 1


def test_lanes_that_access_one_word_are_served_together() -> None:
    assert bank_passes(WORDS @ LinearMap((0, 1, 2)), BANKS) == 1


@given(st.lists(st.integers(0, (1 << BITS) - 1), max_size=5), st.integers(0, 3))
def test_passes_agree_with_counting_words_in_banks(images: list[int], count: int) -> None:
    addresses = xor_swizzle(BITS, column=4, row=7, count=count) @ LinearMap(tuple(images))
    counted = enumerated_passes([addresses(lane) for lane in range(1 << addresses.bits)])
    assert bank_passes(WORDS @ addresses, BANKS) == counted


def test_bits_that_an_address_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="addresses of 10 bits do not have 3 bits from 4 and 8 on"):
        xor_swizzle(BITS, column=4, row=8, count=3)


def test_overlapping_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="3 bits from 6 on overlap those from 4 on"):
        xor_swizzle(BITS, column=4, row=6, count=3)
