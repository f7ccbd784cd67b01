"""Whether a run was made on this machine."""

from harness.results.manifest import GPU_TARGETS, Manifest
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
