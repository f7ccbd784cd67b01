"""The program whose second call Nsight Compute counts: `python -m … CASE_FILE ARTIFACT_FOLDER`."""

import sys
from pathlib import Path

from cuda.bindings import driver

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.targets.cuda.device.context import checked
from harness.targets.executors import chosen_here


def main(case_file: Path, folder: Path) -> None:
    """Call the code of a case's artifact once to warm it up, and once more between the marks of a profile."""
    case = Case.model_validate_json(case_file.read_text(encoding="utf-8"))
    stored = Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text(encoding="utf-8"))
    artifact = chosen_here(stored.of_case(case))
    call = artifact.load(folder).bind(make_inputs(case.problem, "normal", 0))
    call.run()
    checked(driver.cuProfilerStart())
    call.run()
    checked(driver.cuProfilerStop())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
