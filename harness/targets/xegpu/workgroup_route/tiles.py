"""How a workgroup and its sub-groups share the tiles of MLIR's route, and which problems they fit."""

from dataclasses import dataclass

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.base import TileSizes

WORKGROUP_ROWS = 128
"""Queries of a workgroup, where no parameter says."""
SUB_GROUP_ROWS = (16, 8)
"""Queries of a sub-group, those of two dpas or of one where registers are too few."""
INNER_TILES = (64, 32)
"""Keys of a tile, where no parameter says, likewise."""
LEAST_ROWS = 32
"""Of a workgroup's queries, a power of two: a matrix of 16 rows is one of keys, by which layouts are told."""
COLUMNS = 16
"""Columns of a chunk: lanes of a sub-group.  MLIR's passes reduce rows of no more columns than that."""
LEAST_WIDTH = 32
"""Elements of a row that messages take: 64 bytes."""
MOST_MATRIX_ROWS = 1 << 24
"""Rows of a matrix that messages name."""
MESSAGE_ROWS = 8
"""Rows that a prefetch names."""
MOST_SUB_GROUPS = 32
"""Of a workgroup."""
REGISTERS, REGISTER_BYTES = 256, 64
"""Of a sub-group in the large register mode."""
FRAGMENTS = 4
"""Operands B of 16 rows that are on their way at a time."""
ROW_VALUES = 4
"""Numbers of rows, each in all columns of a chunk: maxima before and after a tile, their ratio, the sum."""


@dataclass(frozen=True)
class RouteTiles:
    """The tiles of one kernel."""

    rows: int = WORKGROUP_ROWS
    """Queries of the workgroup."""
    keys: int = INNER_TILES[0]
    """Of a tile."""
    sub_group_rows: int = SUB_GROUP_ROWS[0]
    all_queries: int = WORKGROUP_ROWS
    all_keys: int = INNER_TILES[0]
    """Of one head."""
    is_causal: bool = False
    shift: int = 0
    """Under a causal mask query i sees the keys j ≤ i + shift."""

    @property
    def sub_groups(self) -> int:
        """How many share the workgroup's rows."""
        return self.rows // self.sub_group_rows

    @property
    def prefetched_rows(self) -> int:
        """Keys of the next tile that a sub-group prefetches; 0 where they cannot share a tile."""
        return 0 if self.keys % (MESSAGE_ROWS * self.sub_groups) else self.keys // self.sub_groups

    @property
    def is_cut(self) -> bool:
        """Whether the last tile of keys goes back over some that the one before it had."""
        return self.all_keys % self.keys != 0

    @property
    def is_masked(self) -> bool:
        """Whether tiles have a loop of their own in which scores are masked."""
        return self.is_causal or self.is_cut

    @classmethod
    def of(cls, case: Case) -> "RouteTiles":
        """Return the tiles of a case; raises `UnsupportedError` where they or the problem do not fit."""
        problem = case.problem
        reason = _why_unsupported(case)
        if reason is not None:
            raise UnsupportedError(f"route=workgroup: {reason}")
        bottom_right = problem.causal_alignment == "bottom-right"
        choices = [
            (sub_group_rows, keys)
            for keys in _sizes(case, "tile_kv", INNER_TILES)
            for sub_group_rows in SUB_GROUP_ROWS
        ]
        for sub_group_rows, keys in choices:
            most = min(_sizes(case, "tile_q", (WORKGROUP_ROWS,))[0], MOST_SUB_GROUPS * sub_group_rows)
            tiles = cls(
                rows=1 << (min(most, problem.seq_q).bit_length() - 1),
                keys=min(keys, problem.seq_kv) // COLUMNS * COLUMNS,
                sub_group_rows=sub_group_rows,
                all_queries=problem.seq_q,
                all_keys=problem.seq_kv,
                is_causal=problem.causal,
                shift=problem.seq_kv - problem.seq_q if bottom_right else 0,
            )
            if tiles.registers(problem) <= REGISTERS:
                break
        return tiles

    def registers(self, problem: AttentionProblem) -> int:
        """Return about how many registers a sub-group needs at a time."""
        rows, columns = self.sub_group_rows, problem.head_dim / 2 + problem.head_dim_v + self.keys
        words = rows * (columns + ROW_VALUES * COLUMNS) + FRAGMENTS * COLUMNS * COLUMNS / 2
        return round(words * 4 / REGISTER_BYTES)

    def executed_flops(self, problem: AttentionProblem) -> int:
        """Return the operations of all matrix products: whole tiles, those that no query sees left out."""
        columns = 0
        for number in range(-(-problem.seq_q // self.rows)):
            first = min(number * self.rows, problem.seq_q - self.rows)
            seen = first + self.rows + self.shift if self.is_causal else self.all_keys
            columns += max(0, -(-min(seen, self.all_keys) // self.keys)) * self.keys
        widths = problem.head_dim + problem.head_dim_v
        return 2 * problem.batch * problem.heads * self.rows * columns * widths

    def sizes(self) -> TileSizes:
        """Return the tiles as a variant cuts by them."""
        return TileSizes(query=self.rows, key=self.keys)


def _why_unsupported(case: Case) -> str | None:
    """Return None, or what of a case does not fit."""
    problem = case.problem
    if case.params.get("warps") is not None:
        return "warps: sub-groups follow from tile_q"
    rows, keys = case.params.get("tile_q"), case.params.get("tile_kv")
    if isinstance(rows, int) and (rows < LEAST_ROWS or rows & (rows - 1)):
        return f"tile_q {rows}: expected a power of two from {LEAST_ROWS} on"
    if isinstance(keys, int) and keys % COLUMNS:
        return f"tile_kv {keys}: expected a multiple of {COLUMNS}"
    for name, width in (("head_dim", problem.head_dim), ("head_dim_v", problem.head_dim_v)):
        if width < LEAST_WIDTH or width % COLUMNS:
            return f"{name} {width}: messages take rows of at least {LEAST_WIDTH}, a multiple of {COLUMNS}"
    for present, what in (
        (problem.window is not None, "window"),
        (problem.mask, "boolean mask"),
        (problem.bias, "bias"),
        (problem.softcap is not None, "cap of scores"),
        (problem.kv_lengths is not None, "length for each batch entry"),
        (problem.sinks, "maximum of rows, which sinks need"),
        (problem.log_sum_exp, "maximum of rows, which their log-sum-exp needs"),
    ):
        if present:
            return f"the loop over keys has no {what}"
    if problem.batch * problem.heads * max(problem.seq_q, problem.seq_kv) > MOST_MATRIX_ROWS:
        return f"messages name at most {MOST_MATRIX_ROWS} rows of all heads"
    for name, length, fewest in (("queries", problem.seq_q, LEAST_ROWS), ("keys", problem.seq_kv, COLUMNS)):
        if length < fewest:
            return f"{length} {name}: expected at least {fewest}"
    return None


def _sizes(case: Case, name: str, defaults: tuple[int, ...]) -> tuple[int, ...]:
    size = case.params.get(name)
    return (size,) if isinstance(size, int) else defaults
