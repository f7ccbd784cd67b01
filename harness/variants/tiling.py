"""How a problem is cut into tiles."""

from dataclasses import dataclass

from harness.problem.attention_problem import AttentionProblem
from harness.targets.base import TileSizes


@dataclass(frozen=True)
class Tiling:
    """Tiles of one problem; lengths need not be multiples of the tile sizes."""

    problem: AttentionProblem
    query: int
    """Query rows of a tile that exist."""
    padded_query: int
    """Query rows of a tile that are computed; more than `query` only if the whole problem has fewer."""
    key: int
    materializes_score_rows: bool = True
    """Whether a kernel may hold whole rows of scores."""

    @classmethod
    def of(cls, problem: AttentionProblem, sizes: TileSizes) -> "Tiling":
        """Cut a problem; no tile is larger than the problem."""
        query = min(sizes.query, query_length(problem))
        padded = -(-query // sizes.query_multiple) * sizes.query_multiple
        key = min(sizes.key, key_length(problem))
        return cls(
            problem,
            query=query,
            padded_query=padded,
            key=key,
            materializes_score_rows=sizes.materializes_score_rows,
        )

    @property
    def queries(self) -> int:
        """Length of the axis of queries: of all sequences where they are packed."""
        return query_length(self.problem)

    @property
    def keys(self) -> int:
        """Length of the axis of keys, likewise."""
        return key_length(self.problem)

    @property
    def tiles_queries(self) -> bool:
        """Whether there is more than one tile of queries."""
        return self.query < self.queries

    @property
    def query_rows(self) -> int:
        """Query rows of the problem that are computed, padding included."""
        return self.queries if self.tiles_queries else self.padded_query

    @property
    def query_rows_of_tile(self) -> int:
        """Query rows of a tile that are computed."""
        return self.query if self.tiles_queries else self.padded_query


def query_length(problem: AttentionProblem) -> int:
    """Return how many queries of one head lie one after the other."""
    return problem.q_shape[0] if problem.is_packed else problem.seq_q


def key_length(problem: AttentionProblem) -> int:
    """Return how many keys of one head lie one after the other."""
    return problem.k_shape[0] if problem.is_packed else problem.seq_kv
