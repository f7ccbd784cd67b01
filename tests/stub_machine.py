"""Loaders for workers: the device executors on the emulator's stubs of the drivers."""

from contextlib import AbstractContextManager
from pathlib import Path

from stubbed_device import stub_device, stub_intel_device

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Executable

_machines: list[AbstractContextManager[object]] = []
"""Kept open: the driver has to know the kernels as long as the process lives."""


def load(artifact: Artifact, folder: Path) -> Executable:
    from harness.targets.cuda.device.driver import load as load_on_device

    _enter(stub_device("sm_80", artifact, folder))
    return load_on_device(artifact, folder)


def load_intel(artifact: Artifact, folder: Path) -> Executable:
    from harness.targets.xegpu.device.driver import load as load_on_device

    _enter(stub_intel_device("bmg", artifact, folder))
    return load_on_device(artifact, folder)


def _enter(machine: AbstractContextManager[object]) -> None:
    machine.__enter__()
    _machines.append(machine)
