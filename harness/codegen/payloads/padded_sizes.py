"""The sizes that kernels compute where these are more than a problem has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaddedSizes:
    """Sizes that are computed, each at least the problem's: of targets whose smallest tile is larger.

    Queries, keys and columns that are added are 0.  Keys that are added are hidden; of queries and columns
    that are added the results are not stored.
    """

    queries: int
    keys: int
    head_dim: int
    head_dim_v: int


@dataclass(frozen=True)
class ProjectedWidths:
    """Widths of projections that are computed, likewise; what is added is 0."""

    model: int
    """Columns of the tokens."""
    joined: int
    """Columns of all heads side by side."""
    output: int
    """Columns of the projected output."""
