"""What memory holds that no kernel is to read."""

import numpy as np
import pytest

from harness.problem.dtypes import numpy_dtype
from harness.system.machine.poison import poison

DRAWS = 64
"""So many times each of three kinds is drawn."""


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_poison_is_nan_of_several_kinds(dtype: str) -> None:
    memory = np.zeros((3, 5), numpy_dtype(dtype))
    kinds = set()
    for _ in range(DRAWS):
        poison(memory)
        assert np.isnan(memory.astype(np.float32)).all()
        assert len({number.tobytes() for number in memory.flat}) == 1
        kinds.add(memory[0, 0].tobytes())
    assert len(kinds) == 3


def test_flags_are_set_or_not() -> None:
    memory, kinds = np.zeros(16, bool), set()
    for _ in range(DRAWS):
        poison(memory)
        kinds.add(memory.tobytes())
    assert kinds == {b"\x00" * 16, b"\xff" * 16}
