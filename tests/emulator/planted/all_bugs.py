"""All bugs that are planted into correct kernels, one at a time, and what notices each of them.

`values` are results outside of the oracle's tolerance, `clamped` another number of accesses that hardware
clamps, `order` results that depend on the order of lanes and warps.  Everything else is a kind of finding,
which names the instruction, the line, the lane and the workgroup.  The kernels are IREE's attention, those
that the harness generates for each vendor, and those of `tests/emulator/kernels`.
"""

from planted import (
    generated,
    generated_amd,
    generated_forms,
    generated_intel,
    hand_written_amd,
    hand_written_intel,
    hand_written_nvidia,
    iree_amd,
    iree_nvidia,
)
from planted.bugs import PlantedBug

BUGS: tuple[PlantedBug, ...] = (
    *iree_nvidia.BUGS,
    *iree_amd.BUGS,
    *generated.BUGS,
    *generated_forms.BUGS,
    *generated_amd.BUGS,
    *generated_intel.BUGS,
    *hand_written_nvidia.BUGS,
    *hand_written_amd.BUGS,
    *hand_written_intel.BUGS,
)
