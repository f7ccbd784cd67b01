"""Whole kernels: right values and no findings, in all orders of lanes and warps, by one and two processes."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
from hand_written import FOLDER, HAND_WRITTEN, HandWritten, Run
from iree_modules import CHIPS, IreeAttention
from sweeps import sweep

from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings
from harness.emulator.loading import LoadedKernel

ORDERS = (FORWARD, REVERSED, 2, 3, 97)

KERNELS = [pytest.param(kernel, id=name) for name, kernel in HAND_WRITTEN.items()]


@functools.cache
def compiled(name: str) -> LoadedKernel:
    return HAND_WRITTEN[name].compile()


def assert_correct(run: Run) -> None:
    assert not run.report.findings, run.report.findings
    assert run.is_right
    assert run.clamps_as_expected, (run.report.clamped_loads, run.report.clamped_stores)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_hand_written_kernel_is_right_in_all_orders(kernel: HandWritten, processes: int) -> None:
    run = kernel.run(compiled(kernel.name), LaunchSettings(processes=processes, orders=ORDERS))
    assert_correct(run)
    assert run.report.workgroups == int(np.prod(kernel.grid)) * len(ORDERS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_lanes_of_a_warp_do_not_race_either(kernel: HandWritten) -> None:
    settings = LaunchSettings(orders=ORDERS, checks_within_warps=True)
    assert_correct(kernel.run(compiled(kernel.name), settings))


@pytest.mark.parametrize("chip", sweep(CHIPS, but=["gfx1100"]))
def test_attention_compiled_by_iree_is_right_in_all_orders(
    chip: str, iree_attention: Callable[[str], IreeAttention]
) -> None:
    attention = iree_attention(chip)
    kernel = attention.compile()
    for processes in (1, 2):
        assert_correct(attention.run(kernel, LaunchSettings(processes=processes, orders=ORDERS)))
    assert_correct(attention.run(kernel, LaunchSettings(checks_within_warps=True)))


def test_every_kernel_in_the_folder_is_run() -> None:
    assert {file.stem for file in FOLDER.glob("*.ll")} == set(HAND_WRITTEN)
