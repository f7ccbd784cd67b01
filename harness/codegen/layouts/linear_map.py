"""Linear maps over bits: numbers are vectors over F₂, the field of two elements, whose sum is XOR.

Bit b of a number is its coordinate b.  A map is known by the images of single bits, the columns of its
matrix.  Where all sizes are powers of two, the places of a layout are such a map
(`harness.codegen.layouts.layout_map`): what follows from several of them is linear algebra.  Triton describes
its layouts so: Zhou and others, *Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using
F₂*, 2025, arXiv 2505.23819.
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

    @property
    def bits(self) -> int:
        """Number of bits of arguments."""
        return len(self.images)

    def __call__(self, number: int) -> int:
        """Return the image of a number."""
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
    def image(self) -> tuple[int, ...]:
        """All numbers that something is mapped to, 0 first."""
        return span(vector for vector, _ in self._pivots.values())

    def section(self, bits: int) -> "LinearMap":
        """Return a map g of numbers of so many bits with f(g(y)) = y for every y in the image of this map f.

        It is an inverse where this map has one.
        """
        pivots = self._pivots
        return LinearMap(tuple(pivots[bit][1] if bit in pivots else 0 for bit in range(bits)))

    def quotient(self, bits: int) -> "LinearMap":
        """Return a map of numbers of so many bits that tells them apart up to the image of this map.

        Two numbers are mapped to the same one if and only if their difference is in the image.
        """
        pivots = self._pivots
        return LinearMap(tuple((1 << bit) ^ (pivots[bit][0] if bit in pivots else 0) for bit in range(bits)))

    @cached_property
    def _pivots(self) -> dict[int, tuple[int, int]]:
        """A basis of the image and what is mapped to it, by a bit that only this vector of the basis has.

        Found by Gauss-Jordan elimination of the columns.
        """
        pivots: dict[int, tuple[int, int]] = {}
        for bit, image in enumerate(self.images):
            vector, origin = _cleared((image, 1 << bit), pivots)
            if vector:
                added = {vector.bit_length() - 1: (vector, origin)}
                pivots = {pivot: _cleared(other, added) for pivot, other in pivots.items()} | added
        return pivots


def _cleared(pair: tuple[int, int], pivots: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    vector, origin = pair
    for pivot, (other, other_origin) in pivots.items():
        if vector >> pivot & 1:
            vector, origin = vector ^ other, origin ^ other_origin
    return vector, origin


def span(vectors: Iterable[int]) -> tuple[int, ...]:
    """Return all sums of some of these numbers, which are independent, 0 first."""
    choices = itertools.product(*((0, vector) for vector in vectors))
    return tuple(reduce(xor, choice, 0) for choice in choices)
