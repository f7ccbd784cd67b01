"""Keys are gone over in parts where workgroups of whole rows of scores leave multiprocessors idle."""

import pytest

from harness.targets.cuda import CudaTarget
from harness.targets.gpu.key_splits import LEAST_TILES, key_splits

A100 = 108


@pytest.mark.parametrize(
    ("workgroups", "key_tiles", "parts"),
    [(2048, 64, 1), (173, 64, 1), (64, 64, 3), (32, 256, 6), (1, 256, 64), (1, 16, 4)],
    ids=["large-grid", "nearly-full", "one-head", "decode", "one-row-of-a-long-cache", "few-tiles"],
)
def test_the_fewest_parts_that_nearly_fill_the_device(workgroups: int, key_tiles: int, parts: int) -> None:
    assert key_splits(A100, workgroups, key_tiles) == parts


def test_no_part_has_fewer_tiles_than_are_worth_a_second_kernel() -> None:
    assert key_splits(A100, 1, 2 * LEAST_TILES - 1) == 1
    assert key_splits(A100, 1, 2 * LEAST_TILES) == 2


def test_more_multiprocessors_have_more_parts() -> None:
    assert key_splits(132, 1, 1000) > key_splits(58, 1, 1000)


@pytest.mark.parametrize("workgroups", [1, 7, 50, 108, 200])
@pytest.mark.parametrize("key_tiles", [1, 8, 33, 500])
def test_parts_are_never_more_than_tiles_or_multiprocessors(workgroups: int, key_tiles: int) -> None:
    assert 1 <= key_splits(A100, workgroups, key_tiles) <= min(key_tiles, A100)


@pytest.mark.parametrize("chip", CudaTarget.descriptions)
def test_every_chip_has_the_rule(chip: str) -> None:
    assert (CudaTarget().key_splits(chip, 1, 64) or 0) > 1
