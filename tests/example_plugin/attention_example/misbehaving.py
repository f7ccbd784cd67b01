"""Variants that misbehave, each in one way: what the harness must turn into a row and survive."""

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Sample
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.system.errors import BuildError
from harness.system.processes.programs import run_program
from harness.targets.base import Stage
from harness.targets.lowering.stage_recorder import StageRecorder

CHILDREN_FILE = "HARNESS_TEST_CHILDREN"
"""Variable that names the file for the process ids of what `leaves-children` starts."""
SECONDS_OF_A_LONG_CALL = 0.03
"""More than what a check repeats."""
SECONDS_LATE = 0.02
TILE = 16
"""Keys of a tile of `reads-beyond`."""


class Misbehaving(NumpyAttention):
    """Builds like `numpy-attention`; its call is of the class named `<variant class>Call`."""

    summary = "misbehaves, for tests"
    loader = "attention_example.misbehaving:load"


class Abort(Misbehaving):
    """A compiler whose assertion fails."""

    name = "abort"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        print("Loading the module", file=sys.stderr)
        print("Assertion `isa<To>(Val)' failed.", file=sys.stderr, flush=True)
        os.abort()


class AbortInStage(Misbehaving):
    """A compiler whose assertion fails in its second stage."""

    name = "abort-in-stage"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        stages = (Stage("begun", "", lambda _: "module {}"), Stage("ended", "", lambda _: os.abort()))
        StageRecorder(folder, stages).run_all(stages, None)
        return super().build(case, key, folder)


class CompilerError(Misbehaving):
    """A compiler that refuses the code."""

    name = "build-error"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        raise BuildError("error: 'linalg.generic' op expected 3 operands")


class HangBuild(Misbehaving):
    """A compiler that never ends."""

    name = "hang-build"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        endless_loop()


class BuildOnly(Misbehaving):
    """Builds for a device that is not here."""

    name = "build-only"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        update = {"executor": "none", "why_not_run": "no such device"}
        return super().build(case, key, folder).model_copy(update=update)


class Refused(Misbehaving):
    """A compiler that gives up half-way."""

    name = "refused"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        update = {"executor": "none", "refusal": "mycc: no registers left"}
        return super().build(case, key, folder).model_copy(update=update)


class MissingDependency(Misbehaving):
    """Needs a package that is not installed, and says so."""

    name = "missing-dependency"

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        return "install attention-harness[baselines]"


class DiskFull(Misbehaving):
    """A compiler on a full disk."""

    name = "disk-full"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")
        raise OSError(errno.ENOSPC, "here /dev/full has room")


class LeavesChildren(Misbehaving):
    """A compiler that starts others, in sessions of their own, and never ends."""

    name = "leaves-children"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
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


class Segfault(Misbehaving):
    """Code that reads address 0."""

    name = "segfault"

    class Call(NumpyCall):
        def run(self) -> None:
            ctypes.string_at(0)


class Hang(Misbehaving):
    """Code that never ends."""

    name = "hang"

    class Call(NumpyCall):
        def run(self) -> None:
            endless_loop()


class OutOfMemory(Misbehaving):
    """Code that asks for more and more memory."""

    name = "oom"

    class Call(NumpyCall):
        def run(self) -> None:
            blocks = []
            while len(blocks) < 1000:
                blocks.append(np.empty(2**23))


class ToolKilled(NumpyAttention):
    """A compiler that somebody ends."""

    name = "tool-killed"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        run_program(["sh", "-c", "kill $$"], 30)
        return super().build(case, key, folder)


class Killed(Misbehaving):
    """Code that the system kills."""

    name = "killed"

    class Call(NumpyCall):
        def run(self) -> None:
            os.kill(os.getpid(), signal.SIGKILL)


class Raises(Misbehaving):
    """Code whose runtime raises an exception."""

    name = "raises"

    class Call(NumpyCall):
        def run(self) -> None:
            raise RuntimeError("the launch was refused\nwith details on a second line")


class Wrong(Misbehaving):
    """Code that is off in one tile."""

    name = "wrong"

    class Call(NumpyCall):
        def run(self) -> None:
            super().run()
            self.result[-1, -1, -2:] += 0.5


class Overflows(Misbehaving):
    """A softmax without its maximum subtracted: right for the usual scores, NaN for large ones."""

    name = "overflows"

    class Call(NumpyCall):
        def run(self) -> None:
            q, k, v = (array.astype(np.float32) for array in (self.inputs.q, self.inputs.k, self.inputs.v))
            weights = np.exp(self.problem.scale * (q @ k.swapaxes(-1, -2)))
            self.result[...] = (weights @ v) / weights.sum(axis=-1, keepdims=True)


class Stale(Misbehaving):
    """Code that writes one part of the output only when it runs for the first time in a process."""

    name = "stale"

    class Call(NumpyCall):
        runs: ClassVar[int] = 0

        def run(self) -> None:
            first = 0 if Stale.Call.runs == 0 else 2
            Stale.Call.runs += 1
            self.run_block(slice(first, None))


class Drifts(Misbehaving):
    """Code that is right until it is timed."""

    name = "drifts"

    class Call(NumpyCall):
        is_timed = False

        def sample(self, min_seconds: float) -> Sample:
            sample = super().sample(min_seconds)
            self.is_timed = True
            return sample

        def run(self) -> None:
            if self.is_timed:
                self.result.fill(0)
            else:
                super().run()


class Accumulates(Misbehaving):
    """Code that adds to what the call before has left."""

    name = "accumulates"

    class Call(NumpyCall):
        def run(self) -> None:
            before = np.nan_to_num(self.result.copy())
            super().run()
            self.result += before


class Mutates(Misbehaving):
    """Code that writes to an input."""

    name = "mutates"

    class Call(NumpyCall):
        def run(self) -> None:
            super().run()
            self.inputs.k[-1, -1, -1] *= 1 + 2**-20


class KeepsScales(Misbehaving):
    """Code that measures the range of V once, and holds to it whatever else it gets."""

    name = "keeps-scales"

    class Call(NumpyCall):
        largest: float | None = None

        def run(self) -> None:
            if self.largest is None:
                self.largest = float(np.abs(self.inputs.v).max())
            inputs = self.inputs
            self.inputs = replace(inputs, v=inputs.v.clip(-self.largest, self.largest))
            super().run()
            self.inputs = inputs


class KnowsValues(Misbehaving):
    """Code that converts V once, and again where its first row is another one."""

    name = "knows-values"

    class Call(NumpyCall):
        kept: np.ndarray | None = None

        def run(self) -> None:
            inputs = self.inputs
            if self.kept is None or not np.array_equal(self.kept[..., 0, :], inputs.v[..., 0, :]):
                self.kept = inputs.v.copy()
            self.inputs = replace(inputs, v=self.kept)
            super().run()
            self.inputs = inputs


class ReadsBeyond(Misbehaving):
    """Code that reads whole tiles of V, also the last one, and multiplies what is beyond its end with 0."""

    name = "reads-beyond"

    class Call(NumpyCall):
        def run(self) -> None:
            super().run()
            v = self.inputs.v
            beyond = (ctypes.c_float * (TILE * v.shape[-1])).from_address(v.ctypes.data + v.nbytes)
            tile = np.frombuffer(beyond, np.float32).reshape(TILE, v.shape[-1])
            self.result[:, -1] += np.zeros(TILE, np.float32) @ tile


class WritesLate(Misbehaving):
    """Code that returns before the last of its threads is done."""

    name = "writes-late"

    class Call(NumpyCall):
        def run(self) -> None:
            super().run()
            last = self.result[:, -1].copy()
            self.result[:, -1] = np.nan
            time.sleep(SECONDS_OF_A_LONG_CALL)
            threading.Timer(SECONDS_LATE, lambda: np.copyto(self.result[:, -1], last)).start()


class TakesOnlyValues(Misbehaving):
    """Code that takes other values, and forgets that scores are others, too."""

    name = "takes-only-values"

    class Call(NumpyCall):
        def __init__(self, problem: AttentionProblem, inputs: Inputs, block: int) -> None:
            super().__init__(problem, replace(inputs, q=inputs.q.copy(), k=inputs.k.copy()), block)

        def take_inputs(self, inputs: Inputs) -> bool:
            self.inputs = replace(self.inputs, v=inputs.v)
            return True


class Races(Misbehaving):
    """Code that is wrong in some of its calls."""

    name = "races"

    class Call(NumpyCall):
        calls: ClassVar[list[int]] = []

        def run(self) -> None:
            super().run()
            self.calls.append(1)
            if len(self.calls) % 20 == 0:
                self.result[:, :, -1] = 0


class DiesWhenTimed(Misbehaving):
    """Code that passes the check and crashes while it is timed."""

    name = "dies-when-timed"

    class Call(NumpyCall):
        def sample(self, min_seconds: float) -> Sample:
            ctypes.string_at(0)
            return super().sample(min_seconds)


CALLS: dict[str, type[NumpyCall]] = {
    variant.name: variant.Call
    for variant in (
        Segfault,
        Hang,
        OutOfMemory,
        Killed,
        Raises,
        Wrong,
        Overflows,
        ReadsBeyond,
        Stale,
        Accumulates,
        Drifts,
        Mutates,
        KeepsScales,
        KnowsValues,
        WritesLate,
        TakesOnlyValues,
        Races,
        DiesWhenTimed,
    )
}


class MisbehavingExecutable(NumpyExecutable):
    """Binds calls of the variant's own class."""

    def __init__(self, artifact: Artifact) -> None:
        super().__init__(artifact)
        self.call = CALLS[artifact.case.variant]


def load(artifact: Artifact, folder: Path) -> MisbehavingExecutable:
    """Load a built artifact."""
    return MisbehavingExecutable(artifact)


def endless_loop() -> None:
    """Never return."""
    print("hanging", file=sys.stderr, flush=True)
    while True:
        pass
