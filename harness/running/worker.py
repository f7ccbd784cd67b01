"""The worker process, `python -m harness.running.worker`: everything that can crash happens in here.

A loop that answers requests (`harness.workers.protocol`), one JSON line each way, over two pipes whose file
descriptors come as arguments.  Standard output and error belong to compilers and kernels; the parent
(`harness.workers.process`) keeps them in a log.  A guardian (`harness.processes.guardian`) ends it with its
parent, whatever either is doing then.
"""

import argparse
import contextlib
import faulthandler
import importlib
import os
import sys
import time
import traceback
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.cache import ArtifactCache
from harness.artifact.candidates import fastest_candidate
from harness.artifact.reached_stages import reached_stages
from harness.building.case_build import build_case, find_key, read_artifact
from harness.code_digests import code_digests, require_same_code
from harness.digest import digest_of_array
from harness.errors import (
    ChangedInputsError,
    one_line,
)
from harness.machine.placement import elsewhere
from harness.processes.affinity import keep_on
from harness.processes.copies import no_copy_returns
from harness.processes.lives import begin_anew, live
from harness.processes.own_memory import limit_memory, peak_bytes, reset_peak_bytes
from harness.running.failure_kinds import failure_kind
from harness.running.peak_sampling import sample_peak
from harness.running.prepared_case import PreparedCase, StartedCase
from harness.validation import shown
from harness.workers.import_path import take_import_path
from harness.workers.protocol import (
    REQUESTS,
    BindRequest,
    BuildRequest,
    Built,
    ChangeInputsRequest,
    ChangeOperandsRequest,
    Checked,
    CheckRequest,
    Done,
    ExpectRequest,
    Failed,
    FreshCallsRequest,
    GiveInputsRequest,
    Greeting,
    InputsGiven,
    KeyFound,
    KeyRequest,
    Loaded,
    LoadRequest,
    PeakMeasured,
    PeakRequest,
    PrepareStartsRequest,
    Ran,
    RestartRequest,
    RunRequest,
    Sampled,
    SampleRequest,
    StartRequest,
)

if TYPE_CHECKING:
    import numpy as np

    from harness.oracle.expected import Verdict
    from harness.problem.changing_inputs import ChangingInputs
    from harness.problem.inputs import Inputs


class Worker:
    """Holds the loaded code between requests and answers one request after the other."""

    def __init__(self) -> None:
        self._executable: Executable | None = None
        self._artifact: Artifact | None = None
        self._call: BoundCall | None = None
        self._changing: ChangingInputs | None = None
        """What the call is bound to, where that changes."""
        self._prepared: PreparedCase | None = None
        self._started: StartedCase | None = None
        self._begins_lives = False
        """Whether forks of this process are to serve from now on."""
        self._last_run_s = 0.0
        self._outputs: dict[str, np.ndarray] | Exception | None = None
        """What the last run of a check has given, or what was raised instead."""
        self._bound: dict[str, tuple[weakref.ref[np.ndarray], str]] = {}
        """The inputs of a check by name, where the call holds them, and their digests as they were bound."""
        self._handlers: dict[type, Callable[[Any], Any]] = {
            KeyRequest: self._key,
            BuildRequest: self._build,
            ExpectRequest: self._expect,
            LoadRequest: self._load,
            BindRequest: self._bind,
            RunRequest: self._run,
            CheckRequest: self._check,
            ChangeInputsRequest: self._change_inputs,
            ChangeOperandsRequest: self._change_operands,
            GiveInputsRequest: self._give_inputs,
            PrepareStartsRequest: self._prepare_starts,
            StartRequest: self._start,
            FreshCallsRequest: self._fresh_calls,
            SampleRequest: self._sample,
            PeakRequest: self._peak,
            RestartRequest: self._restart,
        }

    def serve(self, requests: BinaryIO, responses: BinaryIO) -> None:
        """Greet the parent, then answer requests until it closes its end of the pipe.

        When starts are prepared, this process waits while its forks serve in its place.
        """
        answer = Greeting(pid=os.getpid()).model_dump_json()
        while True:
            responses.write(answer.encode() + b"\n")
            responses.flush()
            line = requests.readline()
            if not line:
                return
            answer = self.answer(line)
            if self._begins_lives:
                self._begins_lives = False
                live(lambda: elsewhere(lambda: self.serve(requests, responses)))

    def answer(self, line: bytes | str) -> str:
        """Answer one request; an exception becomes a `Failed` response.

        A copy of this process that code forks off ends: it would answer, too, and take requests away.
        """
        try:
            request = REQUESTS.validate_json(line)
            with no_copy_returns():
                answer: str = self._handlers[type(request)](request).model_dump_json()
        except Exception as error:
            answer = Failed(failure=failure_kind(error), message=one_line(error)).model_dump_json()
            with contextlib.suppress(OSError):  # the log's disk may be full
                traceback.print_exc()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        return answer

    def _key(self, request: KeyRequest) -> KeyFound:
        return find_key(request.case)

    def _build(self, request: BuildRequest) -> Built:
        with reached_stages.left_in(request.stages):
            return build_case(request.case, ArtifactCache(request.cache_root), request.key)

    def _expect(self, request: ExpectRequest) -> Done:
        from harness.oracle.expected import expect
        from harness.problem.changing_inputs import change_operands, inputs_as_expected
        from harness.problem.inputs import make_inputs

        inputs = make_inputs(request.problem, request.distribution, request.seed)
        if request.operands:
            change_operands(inputs, request.problem, request.seed, request.operands)
            inputs = inputs.as_expected(request.problem)
        inputs = inputs_as_expected(inputs, request.problem, request.number)
        expect(inputs, request.problem).save(request.file)
        return Done()

    def _load(self, request: LoadRequest) -> Loaded:
        artifact, number = read_artifact(request.folder), request.candidate
        if number is None:
            number = fastest_candidate(artifact, request.folder)
        self._artifact = artifact.with_candidate(number)
        self._executable = self._artifact.load(request.folder)
        self._executable.take_process()
        require_same_code(request.code, code_digests(request.code))
        return Loaded(candidate=number, metrics=self._executable.driver_metrics())

    def _bind(self, request: BindRequest) -> Done:
        from harness.problem.changing_inputs import ChangingInputs
        from harness.problem.inputs import make_guarded_inputs

        if self._executable is None or self._artifact is None:
            raise RuntimeError("bind was asked for before load")
        self._call = self._changing = None
        problem = self._artifact.case.problem
        inputs = make_guarded_inputs(problem, request.distribution, request.seed).as_given()
        self._note(inputs)
        self._call = self._executable.bind(inputs)
        if request.changes:
            self._changing = ChangingInputs(inputs)
        return Done()

    def _note(self, inputs: "Inputs") -> None:
        """Keep the digests of a checked call's inputs."""
        self._bound = {
            name: (weakref.ref(array), digest_of_array(array)) for name, array in inputs.arrays().items()
        }

    def _change_inputs(self, request: ChangeInputsRequest) -> Done:
        self._changing_inputs().become(request.number)
        return Done()

    def _change_operands(self, request: ChangeOperandsRequest) -> Done:
        from harness.problem.changing_inputs import change_operands

        inputs, executable = self._changing_inputs().inputs, self._executable
        if executable is None or self._artifact is None:
            raise RuntimeError("other operands were asked for before load")
        self._call = None
        change_operands(inputs, self._artifact.case.problem, request.seed, request.turn)
        self._note(inputs)
        self._call = executable.bind(inputs)
        return Done()

    def _give_inputs(self, request: GiveInputsRequest) -> InputsGiven:
        inputs, executable = self._changing_inputs().inputs, self._executable
        self._note(inputs)
        is_in_place = truth_of("take_inputs", self._bound_call().take_inputs(inputs))
        if not is_in_place and executable is not None:
            self._call = None
            self._call = executable.bind(inputs)
        return InputsGiven(is_in_place=is_in_place)

    def _changing_inputs(self) -> "ChangingInputs":
        if self._executable is None or self._changing is None:
            raise RuntimeError("other inputs were asked for before a bind that allows them")
        return self._changing

    def _run(self, request: RunRequest) -> Ran:
        call, self._outputs = self._bound_call(), None
        reset_peak_bytes()
        if request.poison:
            call.poison()
        began = time.perf_counter()
        call.run()
        self._last_run_s = time.perf_counter() - began
        peak = peak_bytes()
        if request.reads:
            self._read_at_once(call)
        return Ran(peak_bytes=peak)

    def _read_at_once(self, call: BoundCall) -> None:
        """Keep the outputs as they are when a call returns, or why they cannot be read: a check tells it."""
        from harness.running.output_check import outputs_of

        try:
            self._outputs = outputs_of(call)
        except Exception as error:
            self._outputs = error

    def _check(self, request: CheckRequest) -> Checked:
        from harness.oracle.expected import Expected
        from harness.results.kept_outputs import keep_outputs
        from harness.running.output_check import OutputCheck

        self._require_same_inputs()
        is_negated = self._changing is not None and self._changing.is_negated
        expected = Expected.load(request.expectation)
        check = OutputCheck(self._bound_call(), expected, is_negated)
        found, self._outputs = self._outputs, None
        if isinstance(found, Exception):
            raise found
        outputs = check.outputs(found)
        verdict = check.verdict(outputs)
        if request.keep is not None:
            keep_outputs(request.keep, outputs, verdict.error_ratio)
        if verdict.ok and request.repeats:
            outputs, verdict = check.repeated(outputs, verdict, self._last_run_s)
        if request.dump is not None and not verdict.ok:
            expected.dump(outputs, request.dump)
        return _checked(verdict)

    def _prepare_starts(self, request: PrepareStartsRequest) -> Done:
        self._prepared = PreparedCase.read(
            request.folder, request.distribution, request.seed, request.expectation, request.candidate
        )
        require_same_code(request.code, code_digests(request.code))
        self._begins_lives = True
        return Done()

    def _start(self, request: StartRequest) -> Done:
        if self._prepared is None:
            raise RuntimeError("a start was asked for before it was prepared")
        self._started = self._prepared.start(request.placement)
        if request.processor is not None:
            keep_on(request.processor)
        return Done()

    def _fresh_calls(self, request: FreshCallsRequest) -> Done:
        self._started_case().fresh_calls(request.number, request.times, request.call)
        return Done()

    def _started_case(self) -> StartedCase:
        if self._started is None:
            raise RuntimeError("a sample was asked for before a start")
        return self._started

    def _sample(self, request: SampleRequest) -> Sampled:
        began, started = time.perf_counter(), self._started_case()
        if request.is_verified:
            started.give_verified_inputs(request.number)
        else:
            started.refresh(request.number)
        call, besides_s = started.call, time.perf_counter() - began
        sample = call.sample_graphs if request.graphs else call.sample
        taken = sample(request.min_seconds)
        device = taken.device
        if request.energy_s:
            device = device.model_copy(update={"energy_j": call.energy(request.energy_s)})
        began = time.perf_counter()
        verdict = _checked(started.verdict(request.number)) if request.is_verified else None
        return Sampled(
            seconds=taken.seconds,
            calls=taken.calls,
            besides_s=besides_s + time.perf_counter() - began,
            verdict=verdict,
            device=device,
            throttled=taken.throttled,
        )

    def _peak(self, request: PeakRequest) -> PeakMeasured:
        return sample_peak(request)

    def _restart(self, request: RestartRequest) -> NoReturn:
        begin_anew()

    def _require_same_inputs(self) -> None:
        """Raise `ChangedInputsError` where the call's inputs are not what they were when it was bound."""
        for name, (reference, digest) in self._bound.items():
            array = reference()
            if array is not None and digest_of_array(array) != digest:
                raise ChangedInputsError(f"it changes its input {name}")

    def _bound_call(self) -> BoundCall:
        if self._call is None:
            raise RuntimeError("a run was asked for before bind")
        return self._call


def _checked(verdict: "Verdict") -> Checked:
    return Checked(
        ok=verdict.ok,
        max_abs_error=verdict.max_abs_error,
        error_ratio=verdict.error_ratio,
        tolerance=verdict.tolerance,
        first_bad=None if verdict.first_bad is None else str(verdict.first_bad),
        details=verdict.details,
    )


def truth_of(method: str, found: object) -> bool:
    """Return what a method of a call answers; raises `TypeError` for what is no truth value."""
    if not isinstance(found, bool | np.bool_):
        raise TypeError(f"{method}: found {shown(found)}, expected True or False")
    return bool(found)


def main() -> None:
    """Serve the parent that started this process."""
    parser = argparse.ArgumentParser(prog="python -m harness.running.worker")
    parser.add_argument("--requests", type=int, required=True, help="file descriptor to read from")
    parser.add_argument("--responses", type=int, required=True, help="file descriptor to write to")
    parser.add_argument("--memory-gb", type=float, help="limit of this process's memory")
    parser.add_argument("modules", nargs="*", help="what all lives need besides")
    arguments = parser.parse_args()
    faulthandler.enable()
    take_import_path()
    if arguments.memory_gb is not None:
        limit_memory(arguments.memory_gb)
    for module in arguments.modules:
        with contextlib.suppress(Exception):  # the request that needs it says what is wrong
            importlib.import_module(module)
            code_digests(["harness", module.partition(".")[0]])  # once for all lives
    for descriptor in (arguments.requests, arguments.responses):
        os.set_inheritable(descriptor, False)

    def serve() -> None:
        requests, responses = os.fdopen(arguments.requests, "rb"), os.fdopen(arguments.responses, "wb")
        with requests, responses:
            Worker().serve(requests, responses)

    live(lambda: elsewhere(serve))


if __name__ == "__main__":
    main()
