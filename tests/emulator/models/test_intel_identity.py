"""Work-item functions, against NumPy's enumeration of a work-group (OpenCL C 3.0, "Work-Item Functions")."""

import numpy as np
import pytest
from intel_builtins import call
from model_calls import Launch, ModelLibrary

LAUNCH = Launch(grid=(5, 3, 2), block=(8, 3, 2), workgroup=(4, 1, 1))
THREADS = 8 * 3 * 2


def of_each_thread(intel: ModelLibrary, builtin: str, *arguments: np.generic) -> list[int]:
    types = ["j"] if arguments else ["v"]
    result = np.uint64 if arguments or "linear" in builtin else np.uint32
    return [
        int(
            call(
                intel, builtin, types, arguments, result, warp=thread // 16, lane=thread % 16, launch=LAUNCH
            ).value
        )
        for thread in range(THREADS)
    ]


@pytest.mark.parametrize("dimension", range(3))
def test_positions(intel: ModelLibrary, dimension: int) -> None:
    z, y, x = np.unravel_index(np.arange(THREADS), LAUNCH.block[::-1])
    local = (x, y, z)[dimension]
    assert of_each_thread(intel, "get_local_id", np.uint32(dimension)) == local.tolist()
    start = LAUNCH.workgroup[dimension] * LAUNCH.block[dimension]
    assert of_each_thread(intel, "get_global_id", np.uint32(dimension)) == (local + start).tolist()


@pytest.mark.parametrize(
    ("builtin", "values", "beyond"),
    [
        ("get_group_id", (4, 1, 1), 0),
        ("get_local_size", (8, 3, 2), 1),
        ("get_enqueued_local_size", (8, 3, 2), 1),
        ("get_global_size", (40, 9, 4), 1),
        ("get_num_groups", (5, 3, 2), 1),
        ("get_global_offset", (0, 0, 0), 0),
    ],
)
def test_of_the_launch(intel: ModelLibrary, builtin: str, values: tuple[int, ...], beyond: int) -> None:
    for dimension, value in enumerate((*values, beyond)):
        assert call(intel, builtin, ["j"], [np.uint32(dimension)], np.uint64, launch=LAUNCH).value == value


def test_linear_numbers(intel: ModelLibrary) -> None:
    assert of_each_thread(intel, "get_local_linear_id") == list(range(THREADS))
    z, y, x = np.unravel_index(np.arange(THREADS), LAUNCH.block[::-1])
    sizes = [grid * block for grid, block in zip(LAUNCH.grid, LAUNCH.block, strict=True)]
    position = (z + 2, y + 3, x + 32)
    expected = np.ravel_multi_index(position, sizes[::-1])
    assert of_each_thread(intel, "get_global_linear_id") == expected.tolist()


def test_sub_groups(intel: ModelLibrary) -> None:
    assert of_each_thread(intel, "get_sub_group_id") == [thread // 16 for thread in range(THREADS)]
    assert of_each_thread(intel, "get_sub_group_local_id") == [thread % 16 for thread in range(THREADS)]
    assert set(of_each_thread(intel, "get_sub_group_size")) == {16}
    assert set(of_each_thread(intel, "get_max_sub_group_size")) == {16}
    assert set(of_each_thread(intel, "get_num_sub_groups")) == {3}


def test_a_last_sub_group_that_is_not_full_counts(intel: ModelLibrary) -> None:
    launch = Launch(block=(33, 1, 1))
    assert call(intel, "get_num_sub_groups", ["v"], (), np.uint32, launch=launch).value == 3
    assert call(intel, "get_enqueued_num_sub_groups", ["v"], (), np.uint32, launch=launch).value == 3
