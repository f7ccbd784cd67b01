"""Linear maps over bits: the laws of the algebra, by enumeration of small maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.layouts.linear_map import LinearMap, identity, span

BITS = 5
IMAGES = st.integers(0, (1 << BITS) - 1)
NUMBERS = st.integers(0, (1 << BITS) - 1)


def maps(bits: int | None = None) -> st.SearchStrategy[LinearMap]:
    """Draw a map to numbers of 5 bits, from as many bits as given or up to 6."""
    least, most = (0, 6) if bits is None else (bits, bits)
    return st.lists(IMAGES, min_size=least, max_size=most).map(lambda images: LinearMap(tuple(images)))


def image_of(function: LinearMap) -> set[int]:
    """Return all that something is mapped to."""
    return {function(number) for number in range(1 << function.bits)}


@given(maps(BITS), NUMBERS, NUMBERS)
def test_the_image_of_a_sum_is_the_sum_of_images(function: LinearMap, a: int, b: int) -> None:
    assert function(a ^ b) == function(a) ^ function(b)


@given(maps(BITS), maps(), st.data())
def test_a_composition_maps_by_one_after_the_other(
    outer: LinearMap, inner: LinearMap, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, (1 << inner.bits) - 1))
    assert (outer @ inner)(number) == outer(inner(number))


@given(maps(BITS), maps(BITS), NUMBERS)
def test_a_sum_of_maps_adds_their_images(a: LinearMap, b: LinearMap, number: int) -> None:
    assert (a + b)(number) == a(number) ^ b(number)


@given(maps(BITS), maps(BITS), maps(BITS))
def test_composition_is_associative_and_has_an_identity(a: LinearMap, b: LinearMap, c: LinearMap) -> None:
    assert (a @ b) @ c == a @ (b @ c)
    assert a @ identity(BITS) == a == identity(BITS) @ a


@given(maps())
def test_the_image_has_two_to_the_rank_numbers(function: LinearMap) -> None:
    assert sorted(function.image) == sorted(image_of(function))
    assert function.image[0] == 0
    assert len(function.image) == 1 << function.rank


@given(maps())
def test_the_kernel_spans_what_is_mapped_to_zero(function: LinearMap) -> None:
    zeros = [number for number in range(1 << function.bits) if function(number) == 0]
    assert sorted(span(function.kernel)) == zeros


@given(maps())
def test_a_section_returns_something_that_is_mapped_to_each_number_of_the_image(function: LinearMap) -> None:
    section = function.section(BITS)
    assert all(function(section(number)) == number for number in function.image)


@given(maps(), NUMBERS, NUMBERS)
def test_a_quotient_tells_numbers_apart_up_to_the_image(function: LinearMap, a: int, b: int) -> None:
    quotient = function.quotient(BITS)
    assert (quotient(a) == quotient(b)) == (a ^ b in image_of(function))


def bijection(order: list[int], additions: list[tuple[int, int]]) -> LinearMap:
    """Return a map of 5 bits that reorders them, and then adds some images to others."""
    images = [1 << place for place in order]
    for to, added in additions:
        if to != added:
            images[to] ^= images[added]
    return LinearMap(tuple(images))


PLACES = st.integers(0, BITS - 1)
BIJECTIONS = st.builds(bijection, st.permutations(range(BITS)), st.lists(st.tuples(PLACES, PLACES)))


@given(BIJECTIONS)
def test_an_inverse_undoes_a_bijection_from_both_sides(function: LinearMap) -> None:
    inverse = function.inverse()
    assert inverse @ function == identity(BITS) == function @ inverse
    assert inverse.inverse() == function


@pytest.mark.parametrize("images", [(1, 1), (1, 0), (1, 4)])
def test_a_map_that_is_no_bijection_has_no_inverse(images: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="no bijection of 2 bits"):
        LinearMap(images).inverse()


def test_numbers_of_more_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="4 has more than 2 bits"):
        identity(2)(4)


def test_negative_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"not negative: \(1, -1\)"):
        LinearMap((1, -1))
