"""What a check asks of a worker, and in which order."""

from functools import partial
from pathlib import Path
from typing import Any, cast

from harness.bench.row_maker import CaseRecord
from harness.bench.running.check_requests import (
    bind_inputs,
    change_inputs,
    check_outputs,
    load_code,
    run_call,
)
from harness.bench.running.checking import CaseCheck
from harness.bench.running.expectations import ExpectationFiles
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.oracle.expected import Verdict
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.status import Status

PROBLEM = AttentionProblem(heads=1, seq_q=8, head_dim=8, mask=True)
RIGHT = Verdict(ok=True, max_abs_error=0.0, error_ratio=0.0, tolerance=1.0)


class RefusesFirstOperands:
    """A worker whose code refuses the first other mask: binding to it leaves nothing bound."""

    def __init__(self) -> None:
        self.is_bound = False
        self.operands: list[int] = []

    def request(self, asked: partial[Any], timeout_s: float) -> object:
        function = asked.func if isinstance(asked, partial) else asked
        if function is bind_inputs:
            self.is_bound = True
            return None
        if function is load_code:
            return 0, None
        assert self.is_bound
        if function is change_inputs and (operands := asked.keywords.get("operands", 0)):
            self.operands.append(operands)
            if operands == 1:
                self.is_bound = False
                raise WorkerFailure(Status.UNSUPPORTED, "a query without a key")
        return {run_call: 0, check_outputs: RIGHT}.get(function)


def test_operands_that_code_refuses_keep_no_others_from_it() -> None:
    record = CaseRecord(Case(problem=PROBLEM, variant="flash", target="cpu"))
    record.folder = Path("artifact")
    expected = ExpectationFiles({"normal": Path("a")}, Path("b"), {1: Path("c"), 2: Path("d")})
    worker = RefusesFirstOperands()
    CaseCheck(cast(WorkerProcess, worker), record, expected, seed=0, timeout_s=1.0).run()
    assert worker.operands == [1, 2]
