"""How a workgroup and its sub-groups share the tiles of MLIR's route, and which problems they fit."""

from dataclasses import dataclass

from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.base import TileSizes

WORKGROUP_ROWS = 128
"""Queries of a workgroup, where no parameter says."""
SUB_GROUP_ROWS = 16
"""Queries of a sub-group: those of two dpas."""
INNER_TILE = 64
"""Keys of a tile, where no parameter says."""
COLUMNS = 16
"""Columns of a chunk: lanes of a sub-group.  MLIR's passes reduce rows of no more columns than that."""
LEAST_WIDTH = 32
"""Elements of a row that messages take: 64 bytes."""
MOST_MATRIX_ROWS = 1 << 24
"""Rows of a matrix that messages name."""
MESSAGE_ROWS = 8
"""Rows that a prefetch names."""
MOST_ROWS = 512
"""Of a workgroup: 32 sub-groups."""


@dataclass(frozen=True)
class RouteTiles:
    """The tiles of one kernel."""

    rows: int = WORKGROUP_ROWS
    """Queries of the workgroup."""
    keys: int = INNER_TILE
    """Of a tile."""

    @property
    def sub_groups(self) -> int:
        """How many share the workgroup's rows."""
        return self.rows // SUB_GROUP_ROWS

    @property
    def prefetched_rows(self) -> int:
        """Keys of the next tile that a sub-group prefetches."""
        return self.keys // self.sub_groups

    @classmethod
    def of(cls, case: Case) -> "RouteTiles":
        """Return the tiles of a case; raises `UnsupportedError` where they or the problem do not fit."""
        tiles = cls(_size(case, "tile_q", WORKGROUP_ROWS), _size(case, "tile_kv", INNER_TILE))
        reason = tiles.why_unsupported(case)
        if reason is not None:
            raise UnsupportedError(f"route=workgroup: {reason}")
        return tiles

    def why_unsupported(self, case: Case) -> str | None:
        """Return None, or what of a case does not fit."""
        problem = case.problem
        if self.rows % (2 * SUB_GROUP_ROWS) or self.rows > MOST_ROWS:
            return f"tile_q {self.rows}: expected a multiple of {2 * SUB_GROUP_ROWS}, at most {MOST_ROWS}"
        unit = MESSAGE_ROWS * self.sub_groups
        if self.keys % unit or self.keys % COLUMNS:
            return f"tile_kv {self.keys}: {self.sub_groups} sub-groups prefetch a multiple of {unit}"
        least = {"head_dim": problem.head_dim, "head_dim_v": problem.head_dim_v}
        for name, width in least.items():
            if width < LEAST_WIDTH:
                return f"{name} {width}: messages take rows of at least {LEAST_WIDTH}"
        for present, what in (
            (problem.causal, "causal mask"),
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
        lengths = {"queries": (problem.seq_q, self.rows), "keys": (problem.seq_kv, self.keys)}
        for name, (length, tile) in lengths.items():
            if length % tile:
                return f"{length} {name}: expected a multiple of the {tile} of a tile"
        return None

    def sizes(self) -> TileSizes:
        """Return the tiles as a variant cuts by them."""
        return TileSizes(query=self.rows, key=self.keys)


def _size(case: Case, name: str, default: int) -> int:
    size = case.params.get(name)
    return size if isinstance(size, int) else default
