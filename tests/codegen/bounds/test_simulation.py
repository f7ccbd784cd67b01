"""The simulation on loops whose time can be said by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.codegen.bounds.instruction import ALU, FMA, TENSOR, Instruction, Order
from harness.codegen.bounds.multiprocessor import Multiprocessor
from harness.codegen.bounds.pipe_cycles import pipe_cycles
from harness.codegen.bounds.simulation import COUNTED, SHARED_QUEUE, cycles_per_iteration

CHIP = Multiprocessor(
    lanes=32,
    count=10,
    sub_cores=4,
    shared_bytes_per_cycle=128,
    l2_bytes_per_cycle=64,
    l2_latency=100,
    barrier_latency=16,
    operand_read_cycles=10,
)
PRODUCT = Instruction(pipe=TENSOR, pipe_cycles=8)
LOAD = Instruction(latency=30, result_flag=0)


def cycles(*trace: Instruction, warps: int = 4, workgroups: int = 1) -> float:
    return cycles_per_iteration(trace, warps, workgroups, CHIP)


@pytest.mark.parametrize(("warps", "expected"), [(4, 5 * 8), (8, 2 * 5 * 8)])
def test_a_loop_of_products_takes_as_long_as_the_pipe_does(warps: int, expected: float) -> None:
    assert cycles(*[PRODUCT] * 5, warps=warps) == pytest.approx(expected)


def test_a_pipe_may_take_a_fraction_of_a_cycle() -> None:
    product = Instruction(pipe=TENSOR, pipe_cycles=6.4)
    assert cycles(*[product] * 10) == pytest.approx(64, rel=0.02)


def test_products_and_other_work_of_two_warps_overlap() -> None:
    addition = Instruction(pipe=FMA, pipe_cycles=2)
    both = [PRODUCT] * 10 + [addition] * 40
    assert cycles(*both, warps=4) == pytest.approx(10 * 8 + 40 * 2, abs=8)
    assert cycles(*both, warps=8) < 2 * (10 * 8 + 40 * 2) * 0.75


def test_what_waits_for_a_flag_takes_the_sum_of_latencies() -> None:
    assert cycles(LOAD, Instruction(stall=4, waits=(0,))) == pytest.approx(30 + 4)


def test_other_workgroups_hide_latency() -> None:
    assert cycles(LOAD, Instruction(stall=4, waits=(0,)), workgroups=2) == pytest.approx((30 + 4) / 2)


def test_stalls_of_one_warp_are_cycles() -> None:
    assert cycles(*[Instruction(pipe=ALU, pipe_cycles=2, stall=5)] * 6) == pytest.approx(30)


def test_one_instruction_is_issued_a_cycle_and_sub_core() -> None:
    assert cycles(*[Instruction()] * 20, warps=8) == pytest.approx(40)


def test_shared_memory_serves_all_sub_cores_one_after_another() -> None:
    assert cycles(*[Instruction(shared_bytes=512)] * 30, warps=8) == pytest.approx(
        30 * 8 * 512 / 128, rel=0.02
    )


def test_operands_are_read_before_their_registers_are_written_again() -> None:
    store = Instruction(operand_flag=1)
    assert cycles(store, Instruction(waits=(1,))) == pytest.approx(CHIP.operand_read_cycles + 1)


def test_a_barrier_takes_its_latency() -> None:
    barrier = Instruction(order=Order.BARRIER)
    assert cycles(Instruction(), barrier) == pytest.approx(1 + CHIP.barrier_latency)


def test_a_barrier_waits_for_the_slowest_warp() -> None:
    """Of 8 warps two share each sub-core: the second one's products come after the first one's."""
    barrier = Instruction(order=Order.BARRIER)
    last_arrives = 7 * 8 + 1
    assert cycles(*[PRODUCT] * 4, barrier, warps=8) == pytest.approx(last_arrives + CHIP.barrier_latency)


@pytest.mark.parametrize(("outstanding", "expected"), [(0, 103), (1, 103 / 2)])
def test_groups_of_copies_arrive_in_order(outstanding: int, expected: float) -> None:
    """A copy is there 128 / 64 + 100 cycles after it is issued; with one group left, two are under way."""
    copy = Instruction(l2_bytes=128, is_copy=True)
    commit = Instruction(order=Order.COMMIT_COPIES)
    wait = Instruction(order=Order.AWAIT_COPIES, outstanding=outstanding)
    assert cycles(copy, commit, wait, warps=1) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(("outstanding", "expected"), [(0, 32 + 20 + 1), (1, 32)])
def test_asynchronous_products_run_on_while_the_warp_does(outstanding: int, expected: float) -> None:
    product = Instruction(pipe=TENSOR, pipe_cycles=32, latency=20, is_queued=True, commits_products=True)
    wait = Instruction(order=Order.AWAIT_PRODUCTS, outstanding=outstanding)
    assert cycles(product, wait) == pytest.approx(expected, abs=1)


INSTRUCTIONS = st.sampled_from(
    [
        PRODUCT,
        LOAD,
        Instruction(stall=3, waits=(0,)),
        Instruction(pipe=FMA, pipe_cycles=2, stall=2),
        Instruction(shared_bytes=512, latency=20, result_flag=0, operand_flag=1),
        Instruction(order=Order.BARRIER),
    ]
)


@settings(max_examples=40)
@given(st.lists(INSTRUCTIONS, min_size=3, max_size=15), st.sampled_from([4, 8]), st.integers(1, 3))
def test_no_loop_is_faster_than_its_busiest_part(
    trace: list[Instruction], warps: int, workgroups: int
) -> None:
    bound = max(pipe_cycles(trace, warps, CHIP).values())
    queued = SHARED_QUEUE / COUNTED
    assert cycles(*trace, warps=warps, workgroups=workgroups) >= 0.9 * bound - queued
