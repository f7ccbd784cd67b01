"""The published points: read from the package's table, and chosen by device and implementation."""

from __future__ import annotations

import csv
import functools
import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.validation import shown

TABLE = "attention_forward.csv"
OUT_OF_MEMORY = "OOM"
"""What stands in the table where the source says that memory ran out."""


@dataclass(frozen=True, order=True)
class PublishedProblem:
    """What a published number is of: everything that a measured row must agree in."""

    dtype: str
    batch: int
    heads: int
    kv_heads: int
    seq: int
    head_dim: int
    is_causal: bool
    has_sinks: bool

    def describe(self) -> str:
        """Return it in one short line, `b4 h64/8 s1024 d128 bf16 causal`."""
        heads = f"h{self.heads}" + (f"/{self.kv_heads}" if self.kv_heads != self.heads else "")
        words = [f"b{self.batch}", heads, f"s{self.seq}", f"d{self.head_dim}", self.dtype]
        words.append("causal" if self.is_causal else "full")
        return " ".join([*words, "sinks"] if self.has_sinks else words)


@dataclass(frozen=True)
class PublishedPoint:
    """A number that others published."""

    device: str
    implementation: str
    version: str
    """Of the implementation; empty where the source does not say it."""
    problem: PublishedProblem
    tflops: float | None
    """TFLOP/s; None where memory ran out.  Higher is better."""
    source: str

    @property
    def series(self) -> str:
        """Hardware, implementation and version: what a series of points is called."""
        return f"{self.device}, {self.implementation}" + (f" ({self.version})" if self.version else "")


def published_points(
    devices: Sequence[str] | None = None, implementations: Sequence[str] | None = None
) -> list[PublishedPoint]:
    """Return the points whose device and implementation contain one of the given words each.

    Upper and lower case count as the same.
    """
    chosen = list(_table())
    for key, words in (("device", devices), ("implementation", implementations)):
        if words is not None:
            chosen = [point for point in chosen if any(_has(getattr(point, key), word) for word in words)]
    return chosen


def check_words(key: Literal["device", "implementation"], words: Sequence[str]) -> None:
    """Raise `ValueError` for a word that is in the device, or the implementation, of no point."""
    names = sorted({getattr(point, key) for point in _table()})
    for word in words:
        if not any(_has(name, word) for name in names):
            raise ValueError(f"found {shown(word)}, expected a part of one of these: {'; '.join(names)}")


def _has(name: str, word: str) -> bool:
    return word.casefold() in name.casefold()


@functools.cache
def _table() -> tuple[PublishedPoint, ...]:
    text = importlib.resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return tuple(_point(row) for row in csv.DictReader(text.splitlines()))


def _point(row: dict[str, str]) -> PublishedPoint:
    return PublishedPoint(
        device=row["device"],
        implementation=row["implementation"],
        version=row["version"],
        problem=PublishedProblem(
            dtype=row["dtype"],
            batch=int(row["batch"]),
            heads=int(row["heads"]),
            kv_heads=int(row["kv_heads"]),
            seq=int(row["seq"]),
            head_dim=int(row["head_dim"]),
            is_causal=row["mask"].startswith("causal"),
            has_sinks=row["sinks"] == "true",
        ),
        tflops=None if row["tflops"] == OUT_OF_MEMORY else float(row["tflops"]),
        source=row["source"],
    )
