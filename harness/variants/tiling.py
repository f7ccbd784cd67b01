"""How a problem is cut into tiles."""

from dataclasses import dataclass

from harness.payloads.padded_sizes import PaddedSizes
from harness.problem.attention_problem import AttentionProblem
from harness.targets.base import TileSizes


@dataclass(frozen=True)
class Tiling:
    """Tiles of one problem; lengths need not be multiples of the tile sizes."""

    problem: AttentionProblem
    """As the kernels compute it, see `with_joined_groups`."""
    given: AttentionProblem
    """As it is asked for."""
    query: int
    """Query rows of a tile that exist."""
    padded_query: int
    """Query rows of a tile that are computed; more than `query` only if the whole problem has fewer."""
    key: int
    padded: PaddedSizes
    """What is computed."""
    materializes_score_rows: bool = True
    """Whether a kernel may hold whole rows of scores."""
    model_width: int | None = None
    """Width of the tokens as it is computed, where heads are projected from them."""
    model_tile: int | None = None
    """Columns of the tokens in a tile of a projection, at most as many as keys in a tile."""
    projects_before: tuple[str, ...] = ()
    """What is projected to heads by kernels of its own, of `query`, `key` and `value`."""
    key_splits: int = 1
    """Parts in which the key tiles are gone over, each part a point of the grid of its own."""

    @classmethod
    def of(cls, problem: AttentionProblem, sizes: TileSizes) -> "Tiling":
        """Cut a problem; no tile is larger than the problem."""
        given = problem
        if sizes.joins_groups and problem.seq_q < sizes.query:
            problem = with_joined_groups(problem)
        query = min(sizes.query, query_length(problem))
        padded = -(-query // sizes.query_multiple) * sizes.query_multiple
        queries = query_length(problem)
        keys = max(key_length(problem), sizes.least_keys)
        width, unit = sizes.width_multiple, sizes.least_keys
        model_width = None if problem.model_width is None else max(problem.model_width, unit)
        key = min(sizes.key, keys)
        return cls(
            problem,
            given,
            query=query,
            padded_query=padded,
            key=key,
            padded=PaddedSizes(
                queries if query < queries else padded,
                keys,
                -(-problem.head_dim // width) * width,
                -(-problem.head_dim_v // width) * width,
            ),
            materializes_score_rows=sizes.materializes_score_rows,
            model_width=model_width,
            model_tile=None if model_width is None else max(unit, min(key, model_width // unit * unit)),
        )

    @property
    def queries(self) -> int:
        """Length of the axis of queries: of all sequences where they are packed."""
        return query_length(self.problem)

    @property
    def keys(self) -> int:
        """Length of the axis of keys, likewise, with those that are added."""
        return self.padded.keys

    @property
    def key_tiles(self) -> int:
        """Tiles of keys that a tile of queries is multiplied with at most."""
        return -(-self.keys // self.key)

    @property
    def grid_points(self) -> int:
        """Tiles of queries, of all heads and batches."""
        return self.problem.batch * self.problem.heads * -(-self.queries // self.query)

    @property
    def tiles_queries(self) -> bool:
        """Whether there is more than one tile of queries."""
        return self.query < self.queries

    @property
    def query_rows_of_tile(self) -> int:
        """Query rows of a tile that are computed."""
        return self.query if self.tiles_queries else self.padded_query


def with_joined_groups(problem: AttentionProblem) -> AttentionProblem:
    """Return the problem with the query heads that share a head of K and V as queries of one head.

    Q and the output lie in memory as before: `[batch, kv_heads, group_size, seq_q, ..]` with the two axes in
    the middle joined.  K and V are then read once for a group, and rows that would be padding compute.
    A problem stays as it is where a query's number decides what it sees.
    """
    is_causal = problem.causal and (problem.seq_q > 1 or problem.causal_alignment == "top-left")
    per_query = (
        is_causal,
        problem.window is not None,
        problem.mask and not set("hq").isdisjoint(problem.mask_axes),
        problem.bias and not set("hq").isdisjoint(problem.bias_axes),
        problem.sinks,
    )
    if problem.group_size == 1 or problem.is_packed or problem.model_width is not None or any(per_query):
        return problem
    rows = problem.group_size * problem.seq_q
    return problem.model_copy(update={"heads": problem.kv_heads, "seq_q": rows, "causal": False})


def query_length(problem: AttentionProblem) -> int:
    """Return how many queries of one head lie one after the other."""
    return problem.q_shape[0] if problem.is_packed else problem.seq_q


def key_length(problem: AttentionProblem) -> int:
    """Return how many keys of one head lie one after the other."""
    return problem.k_shape[0] if problem.is_packed else problem.seq_kv
