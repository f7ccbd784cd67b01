"""Variants whose workers say what cannot be, or leave what they should not."""

import errno
import os
import subprocess
import sys
from pathlib import Path

from pydantic import PositiveInt

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Sample
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.variants.base import Parameters

CHILDREN_FILE = "HARNESS_TEST_CHILDREN"
"""Variable that names the file for the process ids of what `leaves-children` starts."""

CLOCK_MISTAKES = {1: 0.0, 2: -1.0, 3: float("nan"), 4: float("inf")}


class Garbage(NumpyAttention):
    """A compiler that writes to every descriptor that is open."""

    name = "garbage"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Answer in the worker's place, and not in JSON."""
        os.write(int(sys.argv[sys.argv.index("--responses") + 1]), b"[1, 2\n")
        return super().build(case, key, folder)


class AnswersTwice(NumpyAttention):
    """Code that forks and returns twice."""

    name = "answers-twice"
    loader = "attention_example.mistrusted:load_forking"


class ForkingCall(NumpyCall):
    """Returns in parent and child; the child is first."""

    def run(self) -> None:
        """Fork, and compute in both."""
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        super().run()


class Miscounts(NumpyAttention):
    """Counts more operations than 64 bits hold."""

    name = "miscounts"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Write a description that no reader takes."""
        artifact = super().build(case, key, folder)
        metrics = artifact.metrics.model_copy(update={"flops_executed": 2**63})
        return artifact.model_copy(update={"metrics": metrics})


class DiskFull(NumpyAttention):
    """A compiler on a full disk."""

    name = "disk-full"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Write to a device that is always full."""
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")
        raise OSError(errno.ENOSPC, "here /dev/full has room")


class LeavesChildren(NumpyAttention):
    """A compiler that starts others, in sessions of their own, and never ends."""

    name = "leaves-children"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Start a process in each way there is, leave temporary files, and hang."""
        sleep = ["sleep", "90"]
        children = [
            subprocess.Popen(sleep),
            subprocess.Popen(sleep, start_new_session=True),
            subprocess.Popen(["sh", "-c", "setsid sleep 90 & sleep 90"], process_group=0),
        ]
        Path(os.environ["TMPDIR"], "left.o").write_bytes(bytes(100))
        Path(os.environ[CHILDREN_FILE]).write_text(
            f"{os.getpid()} {' '.join(str(child.pid) for child in children)}"
        )
        for child in children:
            child.wait()
        return super().build(case, key, folder)


class Mistake(Parameters):
    """Parameters of `misreads-clock`."""

    mistake: PositiveInt = 1


class MisreadsClock(NumpyAttention):
    """Code whose clock says what no clock says."""

    name = "misreads-clock"
    parameters = Mistake
    loader = "attention_example.mistrusted:load"


class ImpossibleCall(NumpyCall):
    """Takes samples that cannot be."""

    seconds = 0.0

    def sample(self, min_seconds: float) -> Sample:
        """Return such a sample."""
        return Sample(seconds=self.seconds, calls=1)


class ImpossibleExecutable(NumpyExecutable):
    """Binds calls with the mistake that the case asks for."""

    def bind(self, inputs: Inputs) -> NumpyCall:
        """Allocate the output."""
        call = ImpossibleCall(self.case.problem, inputs, 64)
        call.seconds = CLOCK_MISTAKES[int(self.case.params["mistake"])]
        return call


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    return ImpossibleExecutable(artifact)


def load_forking(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = ForkingCall
    return executable
