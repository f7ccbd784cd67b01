"""Sizes of the launch, as AMD's device library returns them; its arithmetic is in test_amd_arithmetic.py."""

import numpy as np
import pytest
from model_calls import Launch, ModelLibrary

LAUNCH = Launch(grid=(5, 6, 7), block=(64, 2, 3))


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_sizes_of_workgroup_and_grid(amd: ModelLibrary, dimension: int) -> None:
    arguments = [np.uint32(dimension)]
    size = amd.call_lane("amdgcn_ockl_get_local_size", arguments, np.uint64, launch=LAUNCH)
    groups = amd.call_lane("amdgcn_ockl_get_num_groups", arguments, np.uint64, launch=LAUNCH)
    assert (int(size.value), int(groups.value)) == (LAUNCH.block[dimension], LAUNCH.grid[dimension])


def test_other_dimensions_are_reported(amd: ModelLibrary) -> None:
    call = amd.call_lane("amdgcn_ockl_get_local_size", [np.uint32(3)], np.uint64, launch=LAUNCH)
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]
