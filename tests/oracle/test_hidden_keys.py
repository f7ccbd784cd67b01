"""Kernels that go wrong beside a mask are refused, whichever queries and keys that concerns."""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.expected import Expected, expect, same_precision
from harness.oracle.reference import Head, heads, masked_scores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import change_operands, turns_of_operands
from harness.problem.inputs import Inputs, make_inputs

SKIPS = {
    "ends its loop",
    "map of tiles of the first entry",
    "map of tiles of the first head",
    "map of tiles of another entry and head",
    "map of tiles of the first call",
    "skips by keys of the first and last query",
    "writes in the last tile",
    "writes what it has seen",
}
"""Mistakes of kernels that skip tiles which a mask hides."""


@dataclass(frozen=True)
class CarelessKernel:
    """Goes over tiles, with a mistake where a mask hides or shows whole ones."""

    problem: AttentionProblem
    mistake: str
    tile_q: int = 16
    tile_kv: int = 32

    def output(self, inputs: Inputs, first: Inputs) -> np.ndarray:
        """Return the output; `first` are the inputs of the first call."""
        problem = self.problem
        output = np.full(problem.output_shape, 7, np.float32)
        of_first_call = list(heads(first, problem))
        all_heads = list(heads(inputs, problem))
        for number, head in enumerate(all_heads):
            maps = {
                "map of tiles of the first entry": all_heads[number % problem.heads],
                "map of tiles of the first head": all_heads[number - number % problem.heads],
                "map of tiles of another entry and head": all_heads[number // problem.heads + 2 * number % 4],
                "map of tiles of the first call": of_first_call[number],
            }
            tile_map = maps.get(self.mistake, head).mask
            assert tile_map is not None
            for start in range(0, problem.seq_q, self.tile_q):
                rows = slice(start, min(start + self.tile_q, problem.seq_q))
                self.write(output[head.index][rows], head, rows, tile_map)
        return output

    def write(self, output: np.ndarray, head: Head, rows: slice, tile_map: np.ndarray) -> None:
        """Write some rows `[queries, head_dim_v]` of one head's output."""
        mistake, count = self.mistake, len(output)
        peak, total = np.full(count, -np.inf, np.float32), np.zeros(count, np.float32)
        accumulator = np.zeros((count, head.v.shape[1]), np.float32)
        starts, visited = range(0, len(head.k), self.tile_kv), 0
        for first in starts:
            keys = slice(first, min(first + self.tile_kv, len(head.k)))
            if mistake in SKIPS and not self.is_visited(tile_map[rows], keys):
                if mistake == "ends its loop":
                    break
                continue
            visited += 1
            scores = self.scores(head, rows, keys)
            products = np.float32(self.problem.scale) * (head.q[rows] @ head.k[keys].T)
            seen = products if mistake == "maximum of hidden keys" else scores
            new_peak = np.maximum(peak, seen.max(axis=1))
            safe = new_peak if mistake == "inf - inf" else np.where(np.isneginf(new_peak), 0, new_peak)
            with np.errstate(invalid="ignore"):
                weights, correction = np.exp(scores - safe[:, None]), np.exp(peak - safe)
            total = correction * total + weights.sum(axis=1)
            accumulator = correction[:, None] * accumulator + weights @ head.v[keys]
            peak = new_peak
            if mistake == "writes in the last tile" and first == starts[-1]:
                output[:] = accumulator / np.where(total > 0, total, 1)[:, None]
        if mistake != "writes in the last tile" and (visited or mistake != "writes what it has seen"):
            divisor = total if mistake == "0/0" else np.where(total > 0, total, 1)
            with np.errstate(invalid="ignore"):
                output[:] = accumulator / divisor[:, None]

    def is_visited(self, visible: np.ndarray, keys: slice) -> bool:
        """Return whether a tile is taken for one of which anything is visible; `[queries, seq_kv]`."""
        if self.mistake == "skips by keys of the first and last query":
            seen = np.flatnonzero(visible[[0, -1]].any(axis=0))
            return not len(seen) or bool(seen[0] < keys.stop and seen[-1] >= keys.start)
        return bool(visible[:, keys].any())

    def scores(self, head: Head, rows: slice, keys: slice) -> np.ndarray:
        """Return the scores of a tile, with a mistake where the mask shows all of it."""
        assert head.mask is not None
        tile, problem, mistake = head.mask[rows, keys], self.problem, self.mistake
        if mistake == "no bias where all is visible" and tile.all():
            head = replace(head, bias=None)
        if mistake == "no causality where all is visible" and tile.all():
            problem = problem.model_copy(update={"causal": False})
        scores, _ = masked_scores(head, rows, problem, head.q[rows], head.k, keys)
        return scores


PARTS_OF_QUERIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first query": lambda tile: tile[:1],
    "last query": lambda tile: tile[-1:],
    "first and last query": lambda tile: tile[[0, -1]],
    "first half of the queries": lambda tile: tile[: len(tile) // 2],
    "last half of the queries": lambda tile: tile[len(tile) // 2 :],
    "first fourth of the queries": lambda tile: tile[: len(tile) // 4],
    "even queries": lambda tile: tile[::2],
    "odd queries": lambda tile: tile[1::2],
    "every fourth query": lambda tile: tile[::4],
    "corners": lambda tile: tile[[0, 0, -1, -1], [0, -1, 0, -1]],
    "mean, rounded": lambda tile: tile.mean(keepdims=True).round(2) == 1,
    "registers of one lane": lambda tile: tile[::8, np.arange(tile.shape[1]) % 8 < 2],
}
PARTS_OF_KEYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first key": lambda tile: tile[:, :1],
    "last key": lambda tile: tile[:, -1:],
    "first and last key": lambda tile: tile[:, [0, -1]],
    "first half of the keys": lambda tile: tile[:, : tile.shape[1] // 2],
    "last half of the keys": lambda tile: tile[:, tile.shape[1] // 2 :],
    "first eight keys": lambda tile: tile[:, :8],
    "last eight keys": lambda tile: tile[:, -8:],
    "even keys": lambda tile: tile[:, ::2],
    "odd keys": lambda tile: tile[:, 1::2],
    "every fourth key": lambda tile: tile[:, ::4],
}
"""What code looks at of a tile of a mask `[queries, seq_kv]`, to tell whether all or any of it is visible."""


@dataclass(frozen=True)
class KernelThatLooksAtParts:
    """Takes a tile for one that is visible whole, or not at all, by a part of it."""

    problem: AttentionProblem
    part: Callable[[np.ndarray], np.ndarray]
    skips: bool
    tile_q: int
    tile_kv: int

    def output(self, inputs: Inputs, _: Inputs) -> np.ndarray:
        """Return the output, by what the kernel takes for the mask."""
        assert inputs.mask is not None
        taken = inputs.mask.copy()
        queries, keys = range(0, taken.shape[-2], self.tile_q), range(0, taken.shape[-1], self.tile_kv)
        for entry, head, row, key in itertools.product(*map(range, taken.shape[:2]), queries, keys):
            tile = taken[entry, head, row : row + self.tile_q, key : key + self.tile_kv]
            seen = self.part(~tile if self.skips else tile)
            if seen.all():
                tile[:] = not self.skips
        return same_precision(replace(inputs, mask=taken), self.problem)


class Kernel(Protocol):
    """What computes an output of a problem."""

    @property
    def problem(self) -> AttentionProblem: ...

    def output(self, inputs: Inputs, first: Inputs) -> np.ndarray: ...


@functools.lru_cache(maxsize=4)
def checks(problem: AttentionProblem, distribution: str) -> list[tuple[Inputs, Expected]]:
    """Return what a check compares: of the first inputs, and of all other operands."""
    found = []
    for turn in (0, *turns_of_operands(problem)):
        inputs = make_inputs(problem, distribution)
        if turn:
            change_operands(inputs, problem, 0, turn)
        found.append((inputs, expect(inputs, problem)))
    return found


def verdicts(kernel: Kernel, distribution: str) -> Iterator[bool]:
    """Yield whether what a check compares is right."""
    compared = checks(kernel.problem, distribution)
    first, _ = compared[0]
    for inputs, expected in compared:
        yield expected.check(kernel.output(inputs, first)).ok


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("fields", [{"causal": True}, {"window": (9, 0)}])
@pytest.mark.parametrize("quarter", sweep(range(4), but=[0, 3]))
def test_no_quarter_of_the_queries_is_without_causality_or_window_beside_a_mask(
    quarter: int, fields: dict[str, Any], distribution: str
) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=16, mask=True, **fields)
    inputs = make_inputs(problem, distribution)
    expected, rows = expect(inputs, problem), slice(16 * quarter, 16 * quarter + 16)
    right = same_precision(inputs, problem)
    everywhere = same_precision(inputs, problem.model_copy(update={"causal": False, "window": None}))
    for wrong in (everywhere, np.zeros_like(right)):
        output = right.copy()
        output[:, :, rows] = wrong[:, :, rows]
        assert not expected.check(output).ok
    assert expected.check(right).ok


MISTAKES = {
    "inf - inf": ("qk", "bhqk", "k", "bk"),
    "0/0": ("qk", "bhqk", "bk"),
    "ends its loop": ("qk", "bhqk", "k", "bk"),
    "maximum of hidden keys": ("qk", "bhqk"),
    "writes in the last tile": ("qk", "bhqk", "k", "bk"),
    "writes what it has seen": ("qk", "bhqk", "q", "bk"),
    "skips by keys of the first and last query": ("qk", "bhqk"),
    "no bias where all is visible": ("qk", "bhqk", "k", "bk"),
    "no causality where all is visible": ("qk", "bhqk", "k", "bk"),
    "map of tiles of the first entry": ("bhqk", "bqk", "bk"),
    "map of tiles of the first head": ("bhqk", "hqk", "hk"),
    "map of tiles of another entry and head": ("bhqk",),
    "map of tiles of the first call": ("qk", "bhqk", "k", "bk", "q"),
}
"""Mistakes that masks of these axes are to show."""

SIZES = {
    "small": (128, 128, 16, 32),
    "small, ragged": (200, 200, 16, 32),
    "two of 64": (128, 128, 64, 64),
    "two of 128": (256, 256, 128, 128),
    "of 128, ragged": (300, 300, 128, 128),
    "four of 128": (512, 512, 128, 128),
    "one tile of queries": (64, 1024, 64, 128),
    "few queries": (16, 512, 64, 64),
}
"""Queries, keys and tiles of each."""

every_size = pytest.mark.parametrize("sizes", sweep(SIZES, but=["small"]))

NOT_OF_ONE_TILE = {
    "writes what it has seen": ("qk", "bhqk", "q"),
    "map of tiles of the first call": ("qk", "bhqk", "q"),
}
"""Mistakes that such masks do not show where one tile has all queries."""


def masked_problem(axes: str, mistake: str, seq_q: int, seq_kv: int) -> AttentionProblem:
    is_causal = axes == "qk" or mistake == "no causality where all is visible"
    return AttentionProblem(
        batch=2,
        heads=2,
        seq_q=seq_q,
        seq_kv=seq_kv,
        head_dim=16,
        mask=True,
        mask_axes=axes,
        bias=True,
        causal=is_causal,
    )


@pytest.mark.parametrize("mistake", MISTAKES)
@every_size
def test_kernels_that_go_wrong_beside_whole_tiles_are_refused(sizes: str, mistake: str) -> None:
    """By the masks that the checks of one distribution have, or beside the largest scores."""
    seq_q, seq_kv, tile_q, tile_kv = SIZES[sizes]
    distribution = "large-logits" if mistake == "maximum of hidden keys" else "normal"
    for axes in MISTAKES[mistake]:
        kernel = CarelessKernel(masked_problem(axes, mistake, seq_q, seq_kv), mistake, tile_q, tile_kv)
        if seq_q > tile_q or axes not in NOT_OF_ONE_TILE.get(mistake, ()):
            assert not all(verdicts(kernel, distribution)), axes


@pytest.mark.parametrize("axes", ["qk", "bhqk", "k", "bk"])
@every_size
def test_kernels_that_look_at_a_part_of_each_tile_are_refused(sizes: str, axes: str) -> None:
    seq_q, seq_kv, tile_q, tile_kv = SIZES[sizes]
    parts = PARTS_OF_KEYS if axes in ("k", "bk") else PARTS_OF_QUERIES | PARTS_OF_KEYS
    missed = []
    for name, skips in itertools.product(parts, (True, False)):
        problem = masked_problem(axes, name, seq_q, seq_kv)
        kernel = KernelThatLooksAtParts(problem, parts[name], skips, tile_q, tile_kv)
        if all(verdicts(kernel, "normal")):
            missed.append(("skips by" if skips else "whole by", name))
    assert missed == []


@pytest.mark.parametrize("axes", ["qk", "bhqk", "bqk", "hqk", "k", "bk", "hk", "q", "bq"])
@every_size
def test_a_kernel_without_a_mistake_is_right_beside_whole_tiles(sizes: str, axes: str) -> None:
    seq_q, seq_kv, tile_q, tile_kv = SIZES[sizes]
    kernel = CarelessKernel(masked_problem(axes, "none", seq_q, seq_kv), "none", tile_q, tile_kv)
    assert all(verdicts(kernel, "normal"))


BESIDE_INFINITE_BIAS = {
    "none": (),
    "inf - inf": ("qk", "bhqk", "hqk", "bk"),
    "map of tiles of the first entry": ("bhqk", "bqk", "bk"),
    "map of tiles of the first head": ("bhqk", "hqk", "hk"),
    "writes in the last tile": ("qk", "bhqk", "hqk", "bk"),
}


@pytest.mark.parametrize("mistake", BESIDE_INFINITE_BIAS)
def test_kernels_that_go_wrong_beside_tiles_of_a_bias_of_minus_infinity_are_refused(mistake: str) -> None:
    for axes in ["qk", "bhqk", "bqk", "hqk", "bk", "hk"]:
        problem = AttentionProblem(batch=2, heads=2, seq_q=128, head_dim=16, bias=True, bias_axes=axes)
        inputs = make_inputs(problem, "minus-infinity-columns")
        assert inputs.bias is not None
        masked = replace(inputs, mask=~np.isneginf(inputs.bias))
        ok = expect(inputs, problem).check(CarelessKernel(problem, mistake).output(masked, masked)).ok
        if mistake == "none" or axes in BESIDE_INFINITE_BIAS[mistake]:
            assert ok == (mistake == "none"), axes


@pytest.mark.parametrize("half", ["first half of the keys", "last half of the keys"])
def test_kernels_that_look_at_a_half_of_each_tile_of_an_infinite_bias_are_refused(half: str) -> None:
    problem = AttentionProblem(batch=2, heads=4, seq_q=128, head_dim=16, bias=True, bias_axes="bhqk")
    inputs = make_inputs(problem, "minus-infinity-columns")
    assert inputs.bias is not None
    masked = replace(inputs, mask=~np.isneginf(inputs.bias))
    expected = expect(inputs, problem)
    for part, is_right in ((PARTS_OF_KEYS[half], False), (lambda tile: tile, True)):
        kernel = KernelThatLooksAtParts(problem, part, True, 16, 32)
        assert expected.check(kernel.output(masked, masked)).ok == is_right
