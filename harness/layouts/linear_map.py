"""Linear maps over bits: numbers are vectors over F₂, the field of two elements, whose sum is XOR.

Bit b of a number is its coordinate b.  A map is known by the images of single bits, the columns of its
matrix.  Where all sizes are powers of two, the places of a layout, a swizzle and the banks of a memory are
such maps (`harness.layouts.layout_map`, `harness.layouts.swizzle`): what follows from several of them is
linear algebra.  Triton describes its layouts so: Zhou and others, *Linear Layouts: Robust Code Generation of
Efficient Tensor Computation Using F₂*, 2025, arXiv 2505.23819.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import xor


@dataclass(frozen=True)
class LinearMap:
    """A map with f(a ⊕ b) = f(a) ⊕ f(b), so that f(0) = 0."""

    images: tuple[int, ...]
    """For each bit of the argument, lowest first, what it is mapped to."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for an image that is no number of bits."""
        if any(image < 0 for image in self.images):
            raise ValueError(f"images of bits are not negative: {self.images}")

    @property
    def bits(self) -> int:
        """Number of bits of arguments."""
        return len(self.images)

    def __call__(self, number: int) -> int:
        """Return the image of a number; raises `ValueError` where it has more bits than arguments have."""
        if number >> self.bits:
            raise ValueError(f"{number} has more than {self.bits} bits")
        return reduce(xor, (image for bit, image in enumerate(self.images) if number >> bit & 1), 0)

    def __matmul__(self, inner: "LinearMap") -> "LinearMap":
        """Return the map of first `inner`, then this one."""
        return LinearMap(tuple(self(image) for image in inner.images))

    def __add__(self, other: "LinearMap") -> "LinearMap":
        """Return the sum, x ↦ f(x) ⊕ g(x)."""
        return LinearMap(tuple(a ^ b for a, b in zip(self.images, other.images, strict=True)))

    @property
    def is_zero(self) -> bool:
        """Whether everything is mapped to 0."""
        return not any(self.images)

    @property
    def rank(self) -> int:
        """Dimension of the image: it has 2^rank numbers."""
        return len(self._elimination.pivots)

    @property
    def kernel(self) -> tuple[int, ...]:
        """A basis of the numbers that are mapped to 0."""
        return self._elimination.kernel

    @property
    def image(self) -> tuple[int, ...]:
        """All numbers that something is mapped to, 0 first."""
        return span(vector for vector, _ in self._elimination.pivots.values())

    def section(self, bits: int) -> "LinearMap":
        """Return a map g of numbers of so many bits with f(g(y)) = y for every y in the image of this map f.

        It is an inverse where this map has one.
        """
        pivots = self._elimination.pivots
        return LinearMap(tuple(pivots[bit][1] if bit in pivots else 0 for bit in range(bits)))

    def quotient(self, bits: int) -> "LinearMap":
        """Return a map of numbers of so many bits that tells them apart up to the image of this map.

        Two numbers are mapped to the same one if and only if their difference is in the image.
        """
        pivots = self._elimination.pivots
        return LinearMap(tuple((1 << bit) ^ (pivots[bit][0] if bit in pivots else 0) for bit in range(bits)))

    def inverse(self) -> "LinearMap":
        """Return the inverse; raises `ValueError` where there is none on numbers of as many bits."""
        if self.rank < self.bits or max(self.images, default=0) >> self.bits:
            raise ValueError(f"the map with the images {self.images} is no bijection of {self.bits} bits")
        return self.section(self.bits)

    @cached_property
    def _elimination(self) -> "_Elimination":
        """Gauss-Jordan elimination of the columns."""
        pivots: dict[int, tuple[int, int]] = {}
        kernel = []
        for bit, image in enumerate(self.images):
            vector, origin = _cleared((image, 1 << bit), pivots)
            if vector == 0:
                kernel.append(origin)
                continue
            found = {vector.bit_length() - 1: (vector, origin)}
            pivots = {pivot: _cleared(known, found) for pivot, known in pivots.items()} | found
        return _Elimination(pivots, tuple(kernel))


@dataclass(frozen=True)
class _Elimination:
    pivots: Mapping[int, tuple[int, int]]
    """A basis of the image and what is mapped to it, by a bit that only this vector of the basis has."""
    kernel: tuple[int, ...]


def _cleared(pair: tuple[int, int], pivots: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return a vector and its origin without the bits of pivots."""
    vector, origin = pair
    for pivot, (known, known_origin) in pivots.items():
        if vector >> pivot & 1:
            vector, origin = vector ^ known, origin ^ known_origin
    return vector, origin


def identity(bits: int) -> LinearMap:
    """Return the map that leaves numbers of so many bits as they are."""
    return LinearMap(tuple(1 << bit for bit in range(bits)))


def span(vectors: Iterable[int]) -> tuple[int, ...]:
    """Return all sums of some of these numbers, which are independent, 0 first."""
    choices = itertools.product(*((0, vector) for vector in vectors))
    return tuple(reduce(xor, choice, 0) for choice in choices)
