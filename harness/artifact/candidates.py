"""Which of an artifact's candidates a device runs: the one that takes the least time there.

Others are to be compared with at the tiles that are best on the device, which no model knows for sure.
"""

import sys
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Executable
from harness.problem.inputs import Inputs, make_inputs
from harness.system.errors import HarnessError, one_line

SAMPLES = 3
"""Of each candidate, the quickest of which counts."""
SAMPLE_SECONDS = 0.02
"""What the calls of a sample take together at least."""


def fastest_candidate(artifact: Artifact, folder: Path) -> int:
    """Return the number of the quickest candidate on the device that runs the artifact, see `with_candidate`.

    Its own code, 0, where it has no others or no device runs it.  A candidate that the device refuses is left
    out, with a line on standard error.
    """
    if artifact.executor != "device" or not artifact.candidates:
        return 0
    inputs = make_inputs(artifact.case.problem, "normal", seed=0)
    seconds: dict[int, float] = {}
    for number in range(len(artifact.candidates) + 1):
        try:
            executable = artifact.with_candidate(number).load(folder)
            seconds[number] = _least_seconds(executable, inputs)
        except (HarnessError, MemoryError) as error:
            print(f"candidate {number}: {one_line(error)}", file=sys.stderr)
    return min(seconds, key=seconds.__getitem__, default=0)


def _least_seconds(executable: Executable, inputs: Inputs) -> float:
    call = executable.bind(inputs)
    call.run()  # the first one is slower
    return min(call.sample(SAMPLE_SECONDS).seconds for _ in range(SAMPLES))
