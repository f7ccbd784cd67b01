"""Whether a run was made here: on this machine, and with the packages that are installed now."""

import platform

from harness.results.manifest import GPU_TARGETS, Manifest, package_versions
from harness.system.machine.gpus import devices
from harness.system.machine.system import device_name, machine


def is_of_this_machine(manifest: Manifest) -> bool:
    """Whether a run was made on a machine like this one.

    It has the same processor, of which a run may use as much as here, and GPUs that are here.  A batch
    system, a container or `taskset` gives one run less of a machine than another: their times differ.
    """
    if manifest.device != device_name() or manifest.machine.share != machine().share:
        return False
    if not manifest.gpus:
        return True
    here = {(gpu.name, gpu.chip) for target in GPU_TARGETS for gpu in devices(target) or ()}
    return here >= {(gpu.name, gpu.chip) for gpu in manifest.gpus}


def has_these_packages(manifest: Manifest) -> bool:
    """Whether a run was made with the Python and the packages of this process, of those that both name."""
    here = package_versions()
    is_same = all(here.get(name, version) == version for name, version in manifest.packages.items())
    return is_same and manifest.python.endswith(f" {platform.python_version()}")
