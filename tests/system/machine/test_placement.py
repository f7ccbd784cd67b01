import ast
import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.problem.dtypes import numpy_dtype
from harness.system.machine.placement import CACHE_LINE, GUARD, PAGE, Placement, elsewhere


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


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("varies", [False, True])
def test_guarded_arrays_hold_the_same_values_between_what_is_no_number(dtype: str, varies: bool) -> None:
    placement, one = Placement(), numpy_dtype(dtype)
    if varies:
        placement.vary(0)
    array = np.arange(12).reshape(3, 4).astype(one)
    copy = placement.guarded(array)
    assert np.array_equal(copy, array)
    assert not np.shares_memory(copy, array)
    assert copy.flags.c_contiguous
    assert copy.ctypes.data % CACHE_LINE == 0
    beside = GUARD // one.itemsize
    for first in (copy.ctypes.data - GUARD, copy.ctypes.data + copy.nbytes):
        held = (ctypes.c_uint8 * GUARD).from_address(first)
        assert np.isnan(np.frombuffer(held, one, beside).astype(np.float32)).all()


def addresses_in_forks(count: int) -> list[tuple[int, int]]:
    """Return where forks of this process have their stack and what they map anew."""
    found = []
    for _ in range(count):
        reading, writing = os.pipe()
        if os.fork() == 0:
            elsewhere(lambda: os.write(writing, f"{stack_address()} {mapping_address()}".encode()))  # noqa: B023
            os._exit(0)
        os.wait()
        stack, mapping = os.read(reading, 100).split()
        found.append((int(stack), int(mapping)))
        os.close(reading)
        os.close(writing)
    return found


def stack_address() -> int:
    """Return the stack pointer in the system call that reads it (proc(5))."""
    return int(Path("/proc/self/syscall").read_text().split()[-2], 16)


def mapping_address() -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mmap.mmap(-1, 1 << 24)))


def test_stack_and_mappings_of_forks_lie_elsewhere() -> None:
    """Asked in a new process: one that has done much has gaps in its memory that hide where mappings go."""
    program = f"from {__name__} import addresses_in_forks; print(addresses_in_forks(12))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    addresses = ast.literal_eval(done.stdout)
    assert len({stack for stack, _ in addresses}) > 4
    assert len({mapping for _, mapping in addresses}) > 4
