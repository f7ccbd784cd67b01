"""Linear maps over bits: the laws of the algebra, by enumeration of small maps."""

from hypothesis import given
from hypothesis import strategies as st

from harness.codegen.layouts.linear_map import LinearMap

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


@given(maps(BITS), maps(), st.data())
def test_a_composition_maps_by_one_after_the_other(
    outer: LinearMap, inner: LinearMap, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, (1 << inner.bits) - 1))
    assert (outer @ inner)(number) == outer(inner(number))


@given(maps(BITS), maps(BITS), NUMBERS)
def test_a_sum_of_maps_adds_their_images(a: LinearMap, b: LinearMap, number: int) -> None:
    assert (a + b)(number) == a(number) ^ b(number)


@given(maps())
def test_the_image_is_all_that_something_is_mapped_to(function: LinearMap) -> None:
    assert sorted(function.image) == sorted(image_of(function))
    assert function.image[0] == 0


@given(maps())
def test_a_section_returns_something_that_is_mapped_to_each_number_of_the_image(function: LinearMap) -> None:
    section = function.section(BITS)
    assert all(function(section(number)) == number for number in function.image)


@given(maps(), NUMBERS, NUMBERS)
def test_a_quotient_tells_numbers_apart_up_to_the_image(function: LinearMap, a: int, b: int) -> None:
    quotient = function.quotient(BITS)
    assert (quotient(a) == quotient(b)) == (a ^ b in image_of(function))
