"""A check binds code again with another mask, bias, sinks and weights: what keeps the first ones is wrong."""

from pathlib import Path

import pytest
from example_cases import example_experiment
from sweeps import sweep
from test_runner import run

from harness.results.result import Result
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

FORMS = {
    "mask": {"mask": True},
    "bias": {"bias": True},
    "sinks": {"sinks": True},
    "weights": {"model_width": 24, "output_projection": True},
}


def rows(folder: Path, *forms: str, **sections: object) -> list[Result]:
    problems = tuple({"seq": 16, "heads": 2, "head_dim": 8, **FORMS[form]} for form in forms)
    variants = ["all-forms", "keeps-operands"]
    experiment = example_experiment(variants, problem=None, problems=problems, **sections)
    return run(experiment, folder, timed=False, jobs=2).results


@pytest.mark.parametrize("form", sweep(list(FORMS), but=["weights"]))
def test_code_that_keeps_the_first_operands_is_wrong(tmp_path: Path, form: str) -> None:
    reason = f"right on its first inputs, and wrong when it is bound again with other values of {form}: error"
    right, wrong = rows(tmp_path, form)
    assert right.status is Status.PASSED
    assert (wrong.status, wrong.phase) == (Status.WRONG, "check")
    assert str(wrong.reason).startswith(reason)


@pytest.mark.sweep
def test_distributions_whose_operands_fit_their_scores_keep_them(tmp_path: Path) -> None:
    results = rows(tmp_path, "mask", check={"distributions": ["minus-infinity-columns"]})
    assert {row.status for row in results} == {Status.PASSED}
