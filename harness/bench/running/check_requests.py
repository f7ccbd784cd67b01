"""What the worker that checks a case is asked: to load code, bind and run it, and compare outputs."""

import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.candidates import fastest_candidate
from harness.artifact.code_digests import code_digests, require_same_code
from harness.artifact.device_facts import DriverMetrics
from harness.bench.building.case_build import read_artifact
from harness.bench.running.output_check import OutputCheck, outputs_of
from harness.bench.workers.protocol import Life
from harness.oracle.expected import Expected, Verdict
from harness.plugins import require
from harness.problem.case import Case
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


def load_code(
    life: Life, folder: Path, case: Case, code: dict[str, str], candidate: int | None = None
) -> tuple[int, DriverMetrics]:
    """Load a case's code; return which candidate it is, and what a device's driver says of it.

    `code` has the digests of the sources, by package, that the case's key is of.  Without a `candidate` it is
    the fastest one here, see `Artifact.with_candidate`.
    """
    artifact = read_artifact(folder, case)
    if candidate is None:
        candidate = fastest_candidate(artifact, folder)
    artifact = artifact.with_candidate(candidate)
    executable = artifact.load(folder)
    executable.take_process()
    require_same_code(code, code_digests(code))
    life.keep(LoadedCode(artifact, executable))
    return candidate, executable.driver_metrics()


def bind_inputs(life: Life, distribution: str, seed: int, *, changes: bool = False) -> None:
    """Make inputs and bind the loaded code to them, in fresh memory.

    Where other inputs follow (`changes`), these stay in memory beside what code copies of them.
    """
    code = life.kept(LoadedCode)
    life.forget(CheckedCall)
    inputs = guarded(make_inputs(code.artifact.case.problem, distribution, seed)).as_given()
    _bind(life, code, inputs, ChangingInputs(inputs) if changes else None)


def run_call(life: Life, *, poison: bool = True, reads: bool = False) -> int:
    """Run the bound call once; return the largest resident memory meanwhile, in bytes.

    Output and scratch are poisoned before, or else are as the last call has left them.  With `reads` the
    outputs that are checked next are those at the call's return.
    """
    checked = life.kept(CheckedCall)
    checked.outputs = None
    reset_peak_bytes()
    if poison:
        checked.call.poison()
    began = time.perf_counter()
    checked.call.run()
    checked.last_run_s = time.perf_counter() - began
    peak = peak_bytes()
    if reads:
        try:
            checked.outputs = outputs_of(checked.call)
        except Exception as error:
            checked.outputs = error
    return peak


def check_outputs(
    life: Life,
    expectation: Path,
    *,
    dump: Path | None = None,
    keep: Path | None = None,
    repeats: bool = False,
) -> Verdict:
    """Compare the last run's outputs with what the oracle expects.

    A wrong output goes to the file `dump`, with what was expected; right or wrong ones go to `keep`.  A call
    that is right, and short, is repeated on the same inputs if it `repeats`.
    """
    checked = life.kept(CheckedCall)
    checked.require_same_inputs()
    is_negated = checked.changing is not None and checked.changing.is_negated
    expected = Expected.load(expectation)
    check = OutputCheck(checked.call, expected, is_negated)
    left, checked.outputs = checked.outputs, None
    if isinstance(left, Exception):
        raise left
    outputs = check.outputs(left)
    verdict = expected.check_outputs(outputs)
    if keep is not None:
        keep_outputs(keep, outputs, verdict.error_ratio)
    if verdict.ok and repeats:
        outputs, verdict = check.repeated(outputs, verdict, checked.last_run_s)
    if dump is not None and not verdict.ok:
        expected.dump(outputs, dump)
    return verdict


def change_inputs(life: Life, number: int, seed: int, operands: int = 0) -> None:
    """Make other inputs in the place of those that the call was bound to, and let it take them.

    Only after a bind that `changes`.  `number` and `operands` say which, see
    `harness.problem.changing_inputs`.  Other operands are taken by code that is bound anew; what else is
    other, by the call, unless it asks to be bound anew.
    """
    code, checked = life.kept(LoadedCode), life.kept(CheckedCall)
    changing = checked.changing
    if changing is None:
        raise RuntimeError("other inputs were asked for before a bind that allows them")
    changing.become(number)
    if operands:
        change_operands(changing.inputs, code.artifact.case.problem, seed, operands)
    elif checked.call.take_inputs(changing.inputs):
        checked.bound = _digests(changing.inputs)
        return
    del checked
    life.forget(CheckedCall)
    _bind(life, code, changing.inputs, changing)


def _bind(life: Life, code: LoadedCode, inputs: Inputs, changing: ChangingInputs | None) -> None:
    bound = _digests(inputs)
    call = code.executable.bind(inputs)
    require(code.artifact.case.variant, "bind", call, BoundCall)
    life.keep(CheckedCall(call, changing, bound))


def _digests(inputs: Inputs) -> dict[str, tuple[weakref.ref[np.ndarray], str]]:
    return {name: (weakref.ref(array), digest_of_array(array)) for name, array in inputs.arrays().items()}
