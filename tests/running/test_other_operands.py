"""A check binds code again with another mask, bias, sinks and weights: what keeps the first ones is wrong."""

from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import run

from harness.results.result import Result
from harness.running import checking
from harness.running.check_requests import ChangeOperandsRequest
from harness.running.checking import CheckFailure
from harness.status import Status
from harness.workers.process import WorkerFailure

pytestmark = pytest.mark.usefixtures("example_plugin")

FORMS = {
    "mask": {"mask": True},
    "bias": {"bias": True},
    "sinks": {"sinks": True},
    "weights": {"model_width": 24, "output_projection": True},
    "mask, sinks": {"mask": True, "sinks": True},
}


def rows(form: str, folder: Path, **sections: object) -> dict[str, Result]:
    experiment = example_experiment(
        ["all-forms", "keeps-operands"],
        problem={"seq": 16, "heads": 2, "head_dim": 8, **FORMS[form]},
        **sections,
    )
    return {row.variant: row for row in run(experiment, folder, timed=False).results}


@pytest.mark.parametrize("form", FORMS)
def test_code_that_keeps_the_first_operands_is_wrong(form: str, tmp_path: Path) -> None:
    found = rows(form, tmp_path)
    assert found["all-forms"].status is Status.PASSED
    reason = f"right on its first inputs, and wrong when it is bound again with other values of {form}: error"
    assert (found["keeps-operands"].status, found["keeps-operands"].phase) == (Status.WRONG, "check")
    assert str(found["keeps-operands"].reason).startswith(reason)


def test_what_is_unsupported_with_other_operands_alone_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = checking._asked

    def refuse(phase, worker, request, timeout_s):  # type: ignore[no-untyped-def]
        if isinstance(request, ChangeOperandsRequest):
            raise CheckFailure(phase, WorkerFailure(Status.UNSUPPORTED, "a query sees no key"))
        return asked(phase, worker, request, timeout_s)

    monkeypatch.setattr(checking, "_asked", refuse)
    assert rows("mask", tmp_path)["all-forms"].status is Status.PASSED


def test_distributions_whose_operands_fit_their_scores_keep_them(tmp_path: Path) -> None:
    found = rows("mask", tmp_path, check={"distributions": ["minus-infinity-columns"]})
    assert {row.status for row in found.values()} == {Status.PASSED}
