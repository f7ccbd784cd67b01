"""How a problem is cut into tiles."""

from dataclasses import dataclass

from harness.codegen.payloads.padded_sizes import PaddedSizes, ProjectedWidths
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize
from harness.problem.pages import PageRoom
from harness.targets.base import TileSizes

WIDEST_PADDING_BYTES = 16
"""Beyond a row in a workgroup's memory, at most."""

STAGES = 2
"""Tiles of an operand that are in a workgroup's memory at once: one is read, one is on its way."""

LEAST_OUTPUT_COLUMNS = 32
"""Columns that a tile of a projected output has where it is that wide, however narrow heads are."""


@dataclass(frozen=True)
class Tiling:
    """Tiles of one problem; lengths need not be multiples of the tile sizes."""

    problem: AttentionProblem
    """As the kernels compute it, see `with_joined_groups`."""
    original_problem: AttentionProblem
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
    projected: ProjectedWidths | None = None
    """Widths of projections as they are computed, where heads are projected from tokens."""
    least_depth: int = 1
    """Columns that a tile of what is projected has at least, as a tile of keys."""
    preferred_key: int = 0
    """Keys of a tile however few there are."""
    output_columns: int = 0
    """Columns of the projected output in a tile; 0 where one tile has them all."""
    projects_before: tuple[str, ...] = ()
    """What is projected to heads by kernels of its own, of `query`, `key` and `value`."""
    keeps_heads: bool = False
    """Whether a workgroup keeps K and V of a head, which it projects first, in its memory."""
    workgroup_bytes: int = 0
    """What a workgroup's memory has room for."""
    pages: PageRoom | None = None
    """The pages that packed keys may lie in, if kernels find them there."""
    follows_lengths: bool = False
    """Whether kernels of packed sequences touch no more tokens than there are."""
    key_splits: int = 1
    """Parts in which the key tiles are gone over, each part a point of the grid of its own."""
    probability_shift: int = 0
    """The power of two that probabilities are multiplied by before a product takes them."""
    maximum_slack: int = 0
    """The power of two that exponentials may reach before running maxima move."""

    @classmethod
    def of(cls, problem: AttentionProblem, sizes: TileSizes) -> "Tiling":
        """Cut a problem; no tile is larger than the problem."""
        original_problem = problem
        if sizes.joins_groups and problem.seq_q < sizes.query:
            problem = with_joined_groups(problem, sizes.query)
        query = min(sizes.query, query_length(problem))
        padded = -(-query // sizes.query_multiple) * sizes.query_multiple
        queries = query_length(problem)
        keys = max(key_length(problem), sizes.least_keys)
        width = sizes.width_multiple
        key = min(sizes.key, keys)
        columns = _output_columns(problem, sizes)
        return cls(
            problem,
            original_problem,
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
            follows_lengths=sizes.follows_lengths,
            projected=_projected_widths(problem, sizes),
            least_depth=sizes.least_keys,
            preferred_key=sizes.key,
            workgroup_bytes=sizes.workgroup_bytes,
            probability_shift=sizes.probability_shift,
            maximum_slack=sizes.maximum_slack,
            output_columns=columns if columns < (problem.model_width or 0) else 0,
        )

    def projected_tile(self, width: int) -> int:
        """Return how many of so many columns a tile of what is projected has: at most as many as keys."""
        return max(self.least_depth, min(self.key, width // self.least_depth * self.least_depth))

    @property
    def why_heads_are_not_kept(self) -> str | None:
        """Return why a workgroup cannot keep K and V of a head; None where it can."""
        problem, padded = self.problem, self.padded
        if problem.group_size > 1:
            return "heads that share K and V would project them again"
        padded_sizes = (padded.queries, padded.keys, padded.head_dim, padded.head_dim_v)
        if padded_sizes != (problem.seq_q, problem.seq_kv, problem.head_dim, problem.head_dim_v):
            return "queries, keys or columns are padded"
        if not self.tiles_queries or self.key >= self.keys:
            return "there is one tile of queries or keys"
        size, padding = itemsize(problem.dtype), WIDEST_PADDING_BYTES
        depth = self.projected_tile(problem.model_width or 0)
        widest = max(problem.head_dim, problem.head_dim_v)
        kept = problem.seq_kv * ((problem.head_dim + problem.head_dim_v) * size + 2 * padding)
        tiles = self.query * (depth * size + padding) + depth * (widest * size + padding)
        needed = kept + STAGES * tiles
        if needed > self.workgroup_bytes:
            return f"they need {needed} bytes, a workgroup has {self.workgroup_bytes}"
        return None

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


def _projected_widths(problem: AttentionProblem, sizes: TileSizes) -> ProjectedWidths | None:
    """Return what is computed of projections: a tile's columns at least."""
    if problem.model_width is None:
        return None
    columns = _output_columns(problem, sizes)
    return ProjectedWidths(
        model=max(problem.model_width, sizes.least_keys),
        joined=max(problem.heads * problem.head_dim_v, sizes.least_keys),
        output=max(problem.model_width, columns),
    )


def _output_columns(problem: AttentionProblem, sizes: TileSizes) -> int:
    """Return the columns of a tile of the projected output: as many as a head's output has, but not few."""
    unit = sizes.width_multiple
    columns = max(problem.head_dim_v, LEAST_OUTPUT_COLUMNS)
    return -(-min(columns, problem.model_width or 1) // unit) * unit


def with_joined_groups(problem: AttentionProblem, tile: int) -> AttentionProblem:
    """Return the problem with the query heads that share a head of K and V as queries of one head.

    Q and the output lie in memory as before: `[batch, kv_heads, group_size, seq_q, ..]` with the two axes in
    the middle joined.  K and V are then read once for a group, and rows that would be padding compute.
    So lie masks and biases in memory that differ along both axes, or along neither; what a query's number
    hides is for the payload: `harness.codegen.payloads.query_rows`.
    A problem stays as it is where a mask or a bias would have to be repeated for rows, or sinks for rows that
    do not fit a tile of so many.
    """
    if problem.group_size == 1 or problem.is_packed or problem.model_width is not None:
        return problem
    present = [f"{name}_axes" for name in ("mask", "bias") if getattr(problem, name)]
    axes = {name: _axes_of_rows(getattr(problem, name), problem.seq_q) for name in present}
    if None in axes.values():
        return problem
    rows = problem.group_size * problem.seq_q
    if problem.sinks and problem.seq_q > 1 and rows > tile:
        return problem
    changes = {"heads": problem.kv_heads, "seq_q": rows, "causal": False, "window": None}
    return problem.model_copy(update={**changes, **axes})


def _axes_of_rows(axes: str, queries: int) -> str | None:
    """Return the axes of a mask or a bias where queries of several heads are rows of one, None where its
    memory does not have them."""
    along = set("hq") & set(axes)
    if len(along) != 1:
        return axes
    if queries > 1:
        return None
    return axes.replace("h", "hq") if "h" in axes else axes.replace("q", "") or None


def query_length(problem: AttentionProblem) -> int:
    """Return how many queries of one head lie one after the other."""
    return problem.q_shape[0] if problem.is_packed else problem.seq_q


def key_length(problem: AttentionProblem) -> int:
    """Return how many keys of one head lie one after the other."""
    return problem.k_shape[0] if problem.is_packed else problem.seq_kv
