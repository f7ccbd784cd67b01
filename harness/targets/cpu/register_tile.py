"""How large a block of accumulators fits the vector registers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RegisterTile:
    """Block sizes for one vector width.

    The accumulators of a contraction are `contraction_rows` × two vectors of queries: 8 × 2 of the 32
    registers of AVX-512, 4 × 2 of the 16 of AVX2.  That many independent multiply-adds are in flight as
    two units of four cycles' latency can take.
    """

    vector_length: int
    """f32 elements of a vector register."""
    contraction_rows: int
    rows: int = 4
    """Rows at a time of elementwise operations and reductions."""

    @classmethod
    def of_vector_length(cls, vector_length: int) -> "RegisterTile":
        """Return the block sizes for vectors of this many f32 elements."""
        return cls(vector_length, contraction_rows=8 if vector_length == 16 else 4)

    @property
    def lanes(self) -> int:
        """Queries of a tile: two vectors."""
        return 2 * self.vector_length
