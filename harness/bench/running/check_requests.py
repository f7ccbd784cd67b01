"""What the worker that checks a case is asked: to load code, bind and run it, and compare outputs."""

import time
import weakref
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.code_digests import code_digests, require_same_code
from harness.bench.building.case_build import read_artifact
from harness.bench.running.output_check import OutputCheck, outputs_of
from harness.bench.workers.protocol import (
    AbsolutePath,
    Checked,
    Done,
    Life,
    Loaded,
    Ran,
    Request,
)
from harness.oracle.expected import Expected
from harness.problem.changing_inputs import ChangingInputs, change_operands
from harness.problem.inputs import Inputs, guarded, make_inputs
from harness.results.kept_outputs import keep_outputs
from harness.system.digest import digest_of_array
from harness.system.errors import ChangedInputsError
from harness.system.processes.own_memory import peak_bytes, reset_peak_bytes


@dataclass(frozen=True)
class LoadedCode:
    """An artifact, and its code in this process."""

    artifact: Artifact
    executable: Executable


@dataclass
class CheckedCall:
    """Loaded code that is bound to inputs, and what its last run has left."""

    call: BoundCall
    changing: ChangingInputs | None = None
    """What it is bound to, where that changes."""
    bound: dict[str, tuple[weakref.ref[np.ndarray], str]] = field(default_factory=dict)
    """The inputs by name, where the call holds them, and their digests as they were bound."""
    last_run_s: float = 0.0
    outputs: dict[str, np.ndarray] | Exception | None = None
    """What the last run has given, or what was raised instead."""

    def require_same_inputs(self) -> None:
        """Raise `ChangedInputsError` where the inputs are not what they were when they were bound."""
        for name, (reference, digest) in self.bound.items():
            array = reference()
            if array is not None and digest_of_array(array) != digest:
                raise ChangedInputsError(f"it changes its input {name}")

    def read_at_once(self) -> None:
        """Keep the outputs as they are when a call returns, or why they cannot be read: a check tells it."""
        try:
            self.outputs = outputs_of(self.call)
        except Exception as error:
            self.outputs = error


class LoadRequest(Request[Loaded]):
    """Load an artifact's code into the worker."""

    folder: AbsolutePath
    code: dict[str, str] = Field(default_factory=dict)
    """Digests of the sources, by package, that the case's key is of; nothing is asked of others."""

    def answer(self, life: Life) -> Loaded:
        """Load the code."""
        artifact = read_artifact(self.folder)
        executable = artifact.load(self.folder)
        executable.take_process()
        require_same_code(self.code, code_digests(self.code))
        life.keep(LoadedCode(artifact, executable))
        return Loaded(metrics=executable.driver_metrics())


class BindRequest(Request[Done]):
    """Make inputs and bind the loaded code to them, in fresh memory."""

    distribution: str
    seed: int
    changes: bool = False
    """Whether other inputs follow in a check: then these stay in memory beside what code copies of them."""

    def answer(self, life: Life) -> Done:
        """Bind the code."""
        code = life.kept(LoadedCode, "bind was asked for before load")
        life.forget(CheckedCall)
        inputs = guarded(make_inputs(code.artifact.case.problem, self.distribution, self.seed)).as_given()
        _bind(life, code, inputs, ChangingInputs(inputs) if self.changes else None)
        return Done()


class RunRequest(Request[Ran]):
    """Run the bound call once."""

    poison: bool = True
    """Whether output and scratch are poisoned before; else it finds what the call before has left."""
    reads: bool = False
    """Whether its outputs are read at once, for the `CheckRequest` that follows."""

    def answer(self, life: Life) -> Ran:
        """Run the call."""
        checked = life.kept(CheckedCall, "a run was asked for before bind")
        checked.outputs = None
        reset_peak_bytes()
        if self.poison:
            checked.call.poison()
        began = time.perf_counter()
        checked.call.run()
        checked.last_run_s = time.perf_counter() - began
        peak = peak_bytes()
        if self.reads:
            checked.read_at_once()
        return Ran(peak_bytes=peak)


class CheckRequest(Request[Checked]):
    """Compare the last run's output with what the oracle expects.

    Inputs that the code has changed are a failure of the kind `wrong`.
    """

    expectation: AbsolutePath
    dump: AbsolutePath | None = None
    """Where a wrong output goes, with what was expected, as an .npz file."""
    keep: AbsolutePath | None = None
    """Where the outputs go, right or wrong (`harness.results.kept_outputs`)."""
    repeats: bool = False
    """Whether a call that is right, and short, is repeated on the same inputs."""

    def answer(self, life: Life) -> Checked:
        """Compare the outputs."""
        checked = life.kept(CheckedCall, "a check was asked for before bind")
        checked.require_same_inputs()
        is_negated = checked.changing is not None and checked.changing.is_negated
        expected = Expected.load(self.expectation)
        check = OutputCheck(checked.call, expected, is_negated)
        left, checked.outputs = checked.outputs, None
        if isinstance(left, Exception):
            raise left
        outputs = check.outputs(left)
        verdict = expected.check_outputs(outputs)
        if self.keep is not None:
            keep_outputs(self.keep, outputs, verdict.error_ratio)
        if verdict.ok and self.repeats:
            outputs, verdict = check.repeated(outputs, verdict, checked.last_run_s)
        if self.dump is not None and not verdict.ok:
            expected.dump(outputs, self.dump)
        return Checked.of(verdict)


class OtherInputsRequest(Request[Done]):
    """Make other inputs in the place of those that the call was bound to, and let it take them.

    Only after a bind that `changes`.  Other operands are taken by code that is bound anew; what else is
    other, by the call, unless it asks to be bound anew.
    """

    number: Annotated[int, Field(ge=0)]
    """Which inputs, see `harness.problem.changing_inputs`."""
    seed: int
    operands: Annotated[int, Field(ge=0)] = 0
    """Which mask, bias, sinks and weights, likewise; 0 are those drawn with the others."""

    def answer(self, life: Life) -> Done:
        """Change the inputs."""
        missing = "other inputs were asked for before a bind that allows them"
        code, checked = life.kept(LoadedCode, missing), life.kept(CheckedCall, missing)
        changing = checked.changing
        if changing is None:
            raise RuntimeError(missing)
        changing.become(self.number)
        if self.operands:
            change_operands(changing.inputs, code.artifact.case.problem, self.seed, self.operands)
        elif checked.call.take_inputs(changing.inputs):
            checked.bound = _digests(changing.inputs)
            return Done()
        del checked
        life.forget(CheckedCall)
        _bind(life, code, changing.inputs, changing)
        return Done()


def _bind(life: Life, code: LoadedCode, inputs: Inputs, changing: ChangingInputs | None) -> None:
    """Bind loaded code to inputs, whose digests are those from before."""
    bound = _digests(inputs)
    life.keep(CheckedCall(code.executable.bind(inputs), changing, bound))


def _digests(inputs: Inputs) -> dict[str, tuple[weakref.ref[np.ndarray], str]]:
    return {name: (weakref.ref(array), digest_of_array(array)) for name, array in inputs.arrays().items()}
