"""How a problem is cut into tiles, and how much of it a tiled form computes more than once."""

from dataclasses import dataclass

from harness.problem import AttentionProblem


@dataclass(frozen=True)
class TileSizes:
    """Tile sizes that a target prefers or a parameter sets, in elements."""

    query: int
    key: int
    query_granule: int = 1
    """Tiles of fewer queries than `query` are padded to a multiple of this."""


@dataclass(frozen=True)
class Tiling:
    """Tiles of one problem.

    Sequence lengths need not be multiples of the tile sizes.  The last tile is *shifted back* so that it
    ends where the sequence ends: tile i starts at min(i · size, length − size).  Every tile thus has one
    static size and nothing is read out of bounds; what the last two tiles share is computed twice
    (queries, with identical results) or masked out of the later one (keys).
    """

    problem: AttentionProblem
    query: int
    """Query rows of a tile that exist."""
    padded_query: int
    """Query rows of a tile that are computed; more than `query` only if the whole problem has fewer."""
    key: int

    @classmethod
    def of(cls, problem: AttentionProblem, sizes: TileSizes) -> "Tiling":
        """Cut a problem; no tile is larger than the problem."""
        query = min(sizes.query, problem.seq_q)
        padded = -(-query // sizes.query_granule) * sizes.query_granule
        return cls(problem, query=query, padded_query=padded, key=min(sizes.key, problem.seq_kv))

    @property
    def query_tiles(self) -> int:
        """Number of query tiles."""
        return -(-self.problem.seq_q // self.query)

    @property
    def key_tiles(self) -> int:
        """Number of key tiles."""
        return -(-self.problem.seq_kv // self.key)

    @property
    def keys_divide(self) -> bool:
        """Whether the key tiles cover the keys exactly."""
        return self.problem.seq_kv % self.key == 0

    @property
    def tile_flops(self) -> tuple[int, int]:
        """Operations of one tile's Q·Kᵀ and of its P·V."""
        pairs = self.padded_query * self.key
        return 2 * pairs * self.problem.head_dim, 2 * pairs * self.problem.head_dim_v

    def visited_key_tiles(self) -> int:
        """Return how many key tiles all query tiles of one head visit when hidden tiles are skipped."""
        shift = self.problem.causal_shift
        if shift is None:
            return self.query_tiles * self.key_tiles
        visited = 0
        for tile in range(self.query_tiles):
            first_query = min(tile * self.query, self.problem.seq_q - self.query)
            end = min(max(first_query + self.query + shift, 0), self.problem.seq_kv)
            visited += -(-end // self.key)
        return visited
