"""Affine expressions as what they are: integer combinations of dimensions and symbols plus a constant."""

from dataclasses import dataclass, field

from mlir import ir


@dataclass(frozen=True)
class AffineForm:
    """`Σ dimensions[d] · position_d + Σ symbols[s] · symbol_s + constant`."""

    dimensions: dict[int, int] = field(default_factory=dict)
    symbols: dict[int, int] = field(default_factory=dict)
    constant: int = 0

    @classmethod
    def of(cls, expression: ir.AffineExpr) -> "AffineForm":
        """Read an affine expression without division or remainder; raises `ValueError` for others."""
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
            if not right.dimensions and not right.symbols:
                return left._times(right.constant)
            if not left.dimensions and not left.symbols:
                return right._times(left.constant)
        raise ValueError(f"{expression} is not an integer combination of its dimensions and symbols")

    def _plus(self, other: "AffineForm") -> "AffineForm":
        return AffineForm(
            _sum(self.dimensions, other.dimensions),
            _sum(self.symbols, other.symbols),
            self.constant + other.constant,
        )

    def _times(self, factor: int) -> "AffineForm":
        return AffineForm(
            {key: factor * value for key, value in self.dimensions.items()},
            {key: factor * value for key, value in self.symbols.items()},
            factor * self.constant,
        )


def _sum(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    total = {key: left.get(key, 0) + right.get(key, 0) for key in left | right}
    return {key: value for key, value in total.items() if value}
