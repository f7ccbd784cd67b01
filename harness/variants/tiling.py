"""How a problem is cut into tiles."""

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
    """Tiles of one problem; lengths need not be multiples of the tile sizes."""

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
    def tiles_queries(self) -> bool:
        """Whether there is more than one tile of queries."""
        return self.query < self.problem.seq_q

    @property
    def query_rows(self) -> int:
        """Query rows of the problem that are computed, padding included."""
        return self.problem.seq_q if self.tiles_queries else self.padded_query

    @property
    def query_rows_of_tile(self) -> int:
        """Query rows of a tile that are computed."""
        return self.query if self.tiles_queries else self.padded_query
