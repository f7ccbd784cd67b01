import numpy as np
import pytest

from harness.machine.placement import CACHE_LINE, PAGE, Placement
from harness.problem.dtypes import numpy_dtype


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("varies", [False, True])
def test_arrays_start_at_a_cache_line(dtype: str, varies: bool) -> None:
    placement = Placement()
    if varies:
        placement.vary(3)
    array = placement.empty((3, 5), numpy_dtype(dtype))
    assert array.ctypes.data % CACHE_LINE == 0
    assert (array.shape, array.dtype) == ((3, 5), numpy_dtype(dtype))


def test_each_seed_moves_large_arrays_within_their_pages() -> None:
    offsets = set()
    placement = Placement()
    for seed in range(20):
        placement.vary(seed)
        offsets.add(placement.empty((1 << 20,), np.dtype(np.float32)).ctypes.data % PAGE)
    assert len(offsets) > 10


def test_moved_arrays_hold_the_same_values_elsewhere() -> None:
    placement = Placement()
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert placement.moved(array) is array
    placement.vary(0)
    moved = placement.moved(array)
    assert np.array_equal(moved, array)
    assert not np.shares_memory(moved, array)
    assert moved.flags.c_contiguous
