"""The program whose second call Nsight Compute counts: `python -m … ARTIFACT_FOLDER`."""

import sys
from pathlib import Path

from cuda.bindings import driver

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.problem.inputs import make_inputs
from harness.targets.cuda.device.context import checked
from harness.targets.executors import chosen_here


def main(folder: Path) -> None:
    """Call an artifact's code once to warm it up, and once more between the marks of a profile."""
    artifact = chosen_here(Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text(encoding="utf-8")))
    call = artifact.load(folder).bind(make_inputs(artifact.case.problem, "normal", 0))
    call.run()
    checked(driver.cuProfilerStart())
    call.run()
    checked(driver.cuProfilerStop())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
