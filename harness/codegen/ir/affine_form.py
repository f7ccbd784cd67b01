"""Affine expressions as what they are: integer combinations of dimensions, their remainders and symbols."""

from dataclasses import dataclass, field
from typing import TypeVar

from mlir import ir

Key = TypeVar("Key")


@dataclass(frozen=True)
class AffineForm:
    """`Σ dimensions[d] · position_d + Σ symbols[s] · symbol_s + constant`, and
    `Σ remainders[d, m] · (position_d mod m)`."""

    dimensions: dict[int, int] = field(default_factory=dict)
    symbols: dict[int, int] = field(default_factory=dict)
    constant: int = 0
    remainders: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, expression: ir.AffineExpr) -> "AffineForm":
        """Read an affine expression without division, and with remainders of dimensions only.

        Raises `ValueError` for others.
        """
        if isinstance(expression, ir.AffineDimExpr):
            return cls(dimensions={expression.position: 1})
        if isinstance(expression, ir.AffineSymbolExpr):
            return cls(symbols={expression.position: 1})
        if isinstance(expression, ir.AffineConstantExpr):
            return cls(constant=expression.value)
        if isinstance(expression, ir.AffineAddExpr):
            return cls.of(expression.lhs)._plus(cls.of(expression.rhs))
        if isinstance(expression, ir.AffineMulExpr):
            left, right = cls.of(expression.lhs), cls.of(expression.rhs)
            if right.is_constant:
                return left._times(right.constant)
            if left.is_constant:
                return right._times(left.constant)
        if isinstance(expression, ir.AffineModExpr):
            dimension, modulus = expression.lhs, expression.rhs
            if isinstance(dimension, ir.AffineDimExpr) and isinstance(modulus, ir.AffineConstantExpr):
                return cls(remainders={(dimension.position, modulus.value): 1})
        raise ValueError(f"{expression} is not an integer combination of its dimensions and symbols")

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no dimension and no symbol."""
        return not (self.dimensions or self.symbols or self.remainders)

    def all_dimensions(self) -> set[int]:
        """Return the dimensions that it depends on."""
        return {*self.dimensions, *(dimension for dimension, _ in self.remainders)}

    def _plus(self, other: "AffineForm") -> "AffineForm":
        return AffineForm(
            _sum(self.dimensions, other.dimensions),
            _sum(self.symbols, other.symbols),
            self.constant + other.constant,
            _sum(self.remainders, other.remainders),
        )

    def _times(self, factor: int) -> "AffineForm":
        return AffineForm(
            {key: factor * value for key, value in self.dimensions.items()},
            {key: factor * value for key, value in self.symbols.items()},
            factor * self.constant,
            {key: factor * value for key, value in self.remainders.items()},
        )


def _sum(left: dict[Key, int], right: dict[Key, int]) -> dict[Key, int]:
    total = {key: left.get(key, 0) + right.get(key, 0) for key in left | right}
    return {key: value for key, value in total.items() if value}
