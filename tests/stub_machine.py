"""A loader for workers: the device executor on the emulator's stub of the driver."""

from pathlib import Path

from stubbed_device import stub_device

from harness.artifact.artifact import Artifact, Executable

_machines = []
"""Kept open: the driver has to know the kernels as long as the process lives."""


def load(artifact: Artifact, folder: Path) -> Executable:
    from harness.targets.cuda.device.driver import load as load_on_device

    machine = stub_device("sm_80", artifact, folder)
    machine.__enter__()
    _machines.append(machine)
    return load_on_device(artifact, folder)
