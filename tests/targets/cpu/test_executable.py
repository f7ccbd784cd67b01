"""Binding, poisoning and calling kernels."""

import gc
import os
import signal
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sweep
from variants.native_runs import build, load

from harness.bench.running.failure_kinds import failure_of
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import make_inputs
from harness.system.errors import HarnessError, OutOfMemoryError, one_line
from harness.system.machine.placement import placement
from harness.system.status import Status
from harness.targets.cpu.executable import NativeCall, _ranges

PROBLEM = AttentionProblem(heads=2, seq_q=77, head_dim=32, causal=True)


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
def test_poison_fills_the_output_with_nan(dtype):
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    call = load("flash", problem).bind(make_inputs(problem))
    call.run()
    call.poison()
    output = call.output()
    assert output.dtype == numpy_dtype(dtype)
    assert np.isnan(output.astype(np.float32)).all()


def test_poison_fills_workspace_and_scratch_memory_with_nan():
    call = load("unfused", PROBLEM).bind(make_inputs(PROBLEM))
    call.run()
    call.poison()
    assert np.isnan(call._buffers["scores"]).all()
    assert all(np.isnan(scratch.view(np.float32)).all() for scratch in call._scratch)


def test_inputs_of_any_strides_give_an_output_that_is_a_copy():
    inputs = make_inputs(PROBLEM)
    strided = replace(inputs, k=np.ascontiguousarray(inputs.k.swapaxes(2, 3)).swapaxes(2, 3))
    outputs = []
    for bound in (inputs, strided):
        call = load("flash", PROBLEM).bind(bound)
        call.run()
        outputs.append(call.output())
        call.poison()
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(load("flash", PROBLEM)(inputs.q, inputs.k, inputs.v), outputs[0])


@given(points=st.integers(1, 200), count=st.integers(1, 30))
def test_ranges_cover_the_grid_once(points, count):
    ranges = list(_ranges([range(points)], count))
    assert [point for part in ranges for point in part] == list(range(points))
    assert len(ranges) <= count
    apart = list(_ranges([range(points), range(2 * points, 3 * points)], count))
    assert [point for part in apart for point in part] == [*range(points), *range(2 * points, 3 * points)]


def test_a_call_keeps_the_code_loaded():
    artifact, folder = build("flash", PROBLEM)
    inputs = make_inputs(PROBLEM)
    call = artifact.load(folder).bind(inputs)
    gc.collect()
    call.run()
    assert expect(inputs, PROBLEM).check(call.output()).ok


class Interrupted(BaseException):
    """What a signal's handler raises in the thread that called."""


class SlowKernel:
    """A kernel of two threads that the calling one leaves by an exception while the other computes."""

    def __init__(self, *, ends_by_itself: bool) -> None:
        self.ends_by_itself = ends_by_itself
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.started = self.ended = 0

    def __call__(self, *arguments: int) -> None:
        if threading.current_thread() is threading.main_thread():
            assert self.begun.wait(60)
            if self.ends_by_itself:
                threading.Timer(0.1, self.may_end.set).start()
            raise Interrupted
        self.started += 1
        self.begun.set()
        assert self.may_end.wait(60)
        self.ended += 1


def call_with(kernel: SlowKernel) -> NativeCall:
    """Return a call of two threads whose kernel is another, on a grid of several ranges."""
    call = load("flash", PROBLEM, threads=2, params={"tile_q": 4}).bind(make_inputs(PROBLEM))
    ((points, _, pointers),) = call._kernels
    call._kernels = [(points, kernel, pointers)]
    return call


def test_a_run_that_is_ended_early_ends_when_no_thread_computes_and_the_next_is_right():
    kernel = SlowKernel(ends_by_itself=True)
    call = call_with(kernel)
    real = load("flash", PROBLEM, threads=2, params={"tile_q": 4}).bind(make_inputs(PROBLEM))._kernels
    with pytest.raises(Interrupted):
        call.run()
    assert (kernel.started, kernel.ended) == (1, 1)
    call._kernels = [(points, function, call._kernels[0][2]) for points, function, _ in real]
    call.poison()
    call.run()
    assert expect(make_inputs(PROBLEM), PROBLEM).check(call.output()).ok


def test_threads_that_a_second_signal_leaves_behind_keep_their_memory(monkeypatch):
    kernel = SlowKernel(ends_by_itself=False)
    call = call_with(kernel)
    buffers = [weakref.ref(array) for array in call._buffers.values()]

    def interrupted(others: object) -> None:
        raise Interrupted

    monkeypatch.setattr("harness.targets.cpu.executable.wait", interrupted)
    with pytest.raises(Interrupted):
        call.run()
    del call
    gc.collect()
    assert kernel.ended == 0
    assert all(buffer() is not None for buffer in buffers)
    kernel.may_end.set()


def test_a_system_that_starts_no_more_threads_is_told(monkeypatch):
    call = load("flash", PROBLEM, threads=2).bind(make_inputs(PROBLEM))

    def refused(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    told = r"^cannot start 2 threads: can't start new thread; ask for fewer$"
    with monkeypatch.context() as patched:
        patched.setattr(call._pool, "submit", refused)
        with pytest.raises(HarnessError, match=told):
            call.run()
    call.run()
    assert expect(make_inputs(PROBLEM), PROBLEM).check(call.output()).ok


def test_a_fork_calls_what_its_parent_has_called():
    """The child has none of the parent's threads, and waiting for them would never end."""
    inputs = make_inputs(PROBLEM)
    call = load("flash", PROBLEM, threads=2).bind(inputs)
    call.run()
    call.poison()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        call.run()
        os._exit(0 if expect(inputs, PROBLEM).check(call.output()).ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("variant", "dtype", "refused", "what"),
    [
        ("unfused", np.float32, 2 * 48 * 48, "workspace scores takes .* GB, f32.*"),
        ("flash", np.float32, 2 * 48 * 8, "output takes .* GB, f32.*"),
        ("flash", np.uint8, 0, "scratch memory of threads=2 takes .* GB"),
    ],
    ids=["workspace", "output", "scratch"],
)
def test_memory_that_the_system_does_not_give_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, variant: str, dtype: type, refused: int, what: str
) -> None:
    problem = AttentionProblem(heads=2, seq_q=48, head_dim=8)
    executable = load(variant, problem, threads=2)
    empty = placement.empty

    def refusing(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
        if kind == dtype and np.prod(shape) >= refused:
            raise MemoryError("Unable to allocate")
        return empty(shape, kind)

    monkeypatch.setattr(placement, "empty", refusing)
    with pytest.raises(OutOfMemoryError, match=rf"^the {what}, and the system does not give") as caught:
        executable.bind(make_inputs(problem))
    assert one_line(caught.value) == str(caught.value)
    assert failure_of(caught.value).status is Status.OUT_OF_MEMORY
