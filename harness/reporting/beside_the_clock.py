"""The share of the dense peak by a device's clock, to stand beside the modelled one.

It needs no measured peak, and no clock that a peak is stated for:

    operations executed / time / (operations of a cycle at the dense peak · cycles of the clock in a second)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest

NEEDED = ("flops_executed", "time_s", "clock_mhz", "model.peak_flops_per_cycle")
MEASURED = "measured_fraction_of_dense_peak"


def with_measured_share(frame: pd.DataFrame, manifests: Sequence[Manifest]) -> pd.DataFrame:
    """Add the column `MEASURED` where there are rows that have a model and a clock.

    Only rows of code that ran on a device of the chip that is modelled have it: code for `sm_80` runs on
    later chips, too, of which its model says nothing.  `manifests` say which chips the devices are.
    """
    chips = {gpu.name: gpu.chip for manifest in manifests for gpu in manifest.gpus}
    if not chips or not set(NEEDED) <= set(frame.columns):
        return frame
    chip_of_device = frame["device"].map(chips)
    is_of_its_chip = np.array(
        [
            isinstance(chip, str) and str(target).partition(":")[2].startswith(chip)
            for chip, target in zip(chip_of_device, frame["target"], strict=True)
        ],
        bool,
    )
    executed, seconds, clock, peak = (frame[name].where(is_of_its_chip).astype("float64") for name in NEEDED)
    return frame.assign(**{MEASURED: executed / seconds / (peak * clock * 1e6)})
