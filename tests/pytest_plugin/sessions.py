"""Sessions of pytest with the plugin, as a user starts them."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from harness.results.run_folder import RunFolder

TINY = """
name = "tiny"
question = "Which of these is right?"
variants = ["numpy-attention", "wrong", "build-error", "missing-dependency", "build-only"]
targets = ["numpy"]

[problem]
heads = 2
head_dim = 8
seq = [16, 24]

[timing]
min_sample_s = 1e-5
min_rounds = 3
max_rounds = 3
starts = 1
budget_s = 1
"""

CHOSEN = ("--harness", "tiny.toml", "--harness-only", "variant=numpy-attention")


def _environment() -> dict[str, str]:
    """Return this environment without what says that this process is a worker of pytest-xdist."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}


class Session:
    """A pytest session that has ended; one that remembers leaves what failed to the next."""

    def __init__(self, folder: Path, *arguments: str, remembers: bool = False, **variables: str) -> None:
        words = [sys.executable, "-m", "pytest", "-p", "harness.pytest_plugin"]
        forgets = [] if remembers else ["-p", "no:cacheprovider"]
        done = subprocess.run(
            [*words, *forgets, "--junitxml", "junit.xml", *arguments],
            cwd=folder,
            env={**_environment(), "PYTHONDONTWRITEBYTECODE": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.folder = folder
        self.status = done.returncode
        self.text = done.stdout + done.stderr

    @property
    def items(self) -> dict[str, str]:
        """What became of each item, by its name."""
        cases = ElementTree.parse(self.folder / "junit.xml").getroot().iter("testcase")
        kinds = {"failure": "failed", "error": "failed", "skipped": "skipped"}
        return {
            case.attrib["name"]: next((kinds[part.tag] for part in case if part.tag in kinds), "passed")
            for case in cases
        }

    @property
    def outcomes(self) -> dict[str, str]:
        """What became of the cases of each variant."""
        return {name.partition(":")[0]: outcome for name, outcome in self.items.items()}

    @property
    def run(self) -> RunFolder:
        """The only run in the folder of results."""
        return self.run_in(self.folder / "results" / "tiny")

    @staticmethod
    def run_in(runs: Path) -> RunFolder:
        """The only run of an experiment."""
        (path,) = runs.iterdir()
        return RunFolder.open(path)
