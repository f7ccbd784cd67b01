"""Kernels launched through the CUDA driver API, here on the emulator's stub of the driver."""

from pathlib import Path

import pytest
from callers import at_once
from emulated_runs import built
from stubbed_device import on_device, stub_device

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.artifact.device_facts import DriverMetrics
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.targets.cuda.device import CUBIN_FILE, PTX_FILE
from harness.targets.gpu.driver import DeviceError
from harness.targets.gpu.event_timer import GRAPH_CALLS

pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")

PROBLEM = AttentionProblem(batch=1, heads=1, seq_q=70, seq_kv=70, head_dim=32, dtype="f16", causal=True)


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """A case of several kernels with workspaces between them."""
    return built(PROBLEM, "cuda:sm_80", "naive")[0]


@pytest.fixture(scope="module")
def folder() -> Path:
    return built(PROBLEM, "cuda:sm_80", "naive")[1]


def is_right_on_threads(built: BuiltArtifact, threads: int) -> bool:
    """Call loaded code on threads that begin together, and say whether all its outputs are right."""
    kernel = built.executable()

    def attend(number: int) -> bool:
        inputs = make_inputs(PROBLEM, seed=number)
        outputs = [kernel(inputs.q, inputs.k, inputs.v) for _ in range(2)]
        return all(expect(inputs, PROBLEM).check(output).ok for output in outputs)

    return all(at_once(attend, threads))


def test_threads_of_a_caller_take_turns_on_the_emulator(artifact, folder):
    assert artifact.executor == "emulator"
    assert is_right_on_threads(BuiltArtifact(artifact, folder), 4)


def test_each_thread_of_a_caller_has_the_device_s_context(artifact, folder):
    with stub_device("sm_80", artifact, folder):
        assert is_right_on_threads(BuiltArtifact(on_device(artifact), folder), 1)


def test_graphs_time_calls_and_leave_their_output(artifact, folder):
    inputs = make_inputs(PROBLEM, seed=5)
    with stub_device("sm_80", artifact, folder):
        call = on_device(artifact).load(folder).bind(inputs)
        call.sample_graphs(0.0)
        call.poison()
        sample = call.sample_graphs(0.0)
        assert expect(inputs, PROBLEM).check(call.output()).ok
    assert (sample.device.timed_by, sample.calls) == ("graphs", GRAPH_CALLS)
    assert sample.seconds > 0


def test_a_graph_computes_of_inputs_that_came_after_it(artifact, folder):
    others = make_inputs(PROBLEM, seed=6)
    with stub_device("sm_80", artifact, folder):
        call = on_device(artifact).load(folder).bind(make_inputs(PROBLEM, seed=5))
        call.sample_graphs(0.0)
        call.take_inputs(others)
        call.sample_graphs(0.0)
        assert expect(others, PROBLEM).check(call.output()).ok


def test_the_driver_tells_registers_and_local_memory(artifact, folder):
    with stub_device("sm_80", artifact, folder):
        metrics = on_device(artifact).load(folder).driver_metrics()
    assert metrics == DriverMetrics(driver_registers=255, driver_local_bytes=0), "as the stub says"


def test_a_copy_s_bandwidth_is_measured(artifact):
    from harness.targets.cuda.device.bandwidth import copy_bandwidth

    with stub_device("sm_80"):
        assert copy_bandwidth("sm_80") > 0


def test_machine_code_is_for_its_generation_and_assembly_for_later_ones(tmp_path):
    from harness.targets.cuda.device.driver import image_for

    (tmp_path / PTX_FILE).write_text("assembly")
    (tmp_path / CUBIN_FILE).write_bytes(b"machine code")
    assert image_for(tmp_path, "sm_80", "sm_86") == b"machine code"
    assert image_for(tmp_path, "sm_80", "sm_90") == b"assembly\0"
    assert image_for(tmp_path, "sm_90a", "sm_90") == b"machine code"
    (tmp_path / CUBIN_FILE).unlink()
    assert image_for(tmp_path, "sm_80", "sm_80") == b"assembly\0"


def test_assembly_is_compiled_by_the_driver_of_a_later_device(artifact, folder):
    inputs = make_inputs(PROBLEM, seed=6)
    with stub_device("sm_90", artifact, folder):
        call = on_device(artifact).load(folder).bind(inputs)
        call.poison()
        call.run()
        assert expect(inputs, PROBLEM).check(call.output()).ok


def test_missing_memory_of_the_device_is_told_from_other_errors():
    from cuda.bindings import driver

    from harness.targets.cuda.device.context import checked

    with stub_device("sm_80"):
        with pytest.raises(MemoryError, match="out of memory"):
            checked((driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY,))
        with pytest.raises(DeviceError, match="invalid value"):
            checked((driver.CUresult.CUDA_ERROR_INVALID_VALUE, 7))
        assert checked((driver.CUresult.CUDA_SUCCESS,)) is None
        assert checked((driver.CUresult.CUDA_SUCCESS, 7)) == 7
