"""Memory that a device, or the emulator in its place, does not have."""

import pytest

from harness.bench.running.failure_kinds import failure_of
from harness.emulator.launching import LaunchSettings
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.errors import OutOfMemoryError, one_line
from harness.system.status import Status
from harness.targets.gpu.emulator_driver import EmulatorDriver
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.lowering.buffers import Buffer

PETABYTE = Buffer(name="scores", shape=(2**48,), dtype="f32", is_workspace=True)


def test_memory_for_a_workspace_that_there_is_not_is_told_in_one_line() -> None:
    kernel = GpuKernel(name="attention", buffers=(PETABYTE,), grid=1, threads=32, shared_bytes=0)
    problem = AttentionProblem(heads=1, seq_q=16, head_dim=8)
    plan = GpuLaunch(chip="sm_80", kernels=(kernel,))
    kernels = GpuKernels(problem, plan, EmulatorDriver({}, LaunchSettings()))
    with pytest.raises(OutOfMemoryError, match=r"^the workspace scores takes 1\.13e\+06 GB, f32") as caught:
        kernels.bind(make_inputs(problem))
    assert one_line(caught.value) == str(caught.value)
    assert failure_of(caught.value).status is Status.OUT_OF_MEMORY
