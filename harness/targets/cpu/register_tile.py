"""How large a block of accumulators fits the vector registers."""

from dataclasses import dataclass

WIDE_HEAD = 96
"""From this head_dim on, 16 registers hold blocks of three vectors better than of two (measured)."""


@dataclass(frozen=True)
class RegisterTile:
    """Block sizes for one instruction set.

    A contraction keeps `contraction_rows` × (two or three vectors of queries) accumulators in registers:
    at least as many independent multiply-adds as two units of four cycles' latency can have in flight,
    and few enough to leave registers for the factors.
    """

    vector_length: int
    """f32 elements of a vector register."""
    registers: int
    contraction_rows: int

    @classmethod
    def of_vector_length(cls, vector_length: int) -> "RegisterTile":
        """Return the block sizes for vectors of this many f32 elements: AVX-512 has 32 of them, AVX2 16."""
        if vector_length == 16:
            return cls(vector_length, registers=32, contraction_rows=8)
        return cls(vector_length, registers=16, contraction_rows=4)

    def queries(self, head_dim: int) -> int:
        """Return the queries of a tile, which lie in vector lanes."""
        vectors = 3 if self.registers == 16 and head_dim >= WIDE_HEAD else 2
        return vectors * self.vector_length

    def elementwise_rows(self, lanes: int) -> int:
        """Return how many rows elementwise operations take at a time.

        The exponential needs some ten registers for constants and temporaries of its own.
        """
        return max(1, self.registers // 4 // -(-lanes // self.vector_length))
