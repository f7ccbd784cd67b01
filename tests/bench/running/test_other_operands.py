"""A check binds code again with another mask, bias, sinks and weights: what keeps the first ones is wrong."""

from pathlib import Path

import pytest
from example_cases import example_experiment
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


def test_code_that_keeps_the_first_operands_is_wrong(tmp_path: Path) -> None:
    reason = "right on its first inputs, and wrong when it is bound again with other values of {}: error"
    results = rows(tmp_path, *FORMS)
    right = [row.status for row in results if row.variant == "all-forms"]
    wrong = [row for row in results if row.variant == "keeps-operands"]
    assert right == [Status.PASSED] * len(FORMS)
    assert [(row.status, row.phase) for row in wrong] == [(Status.WRONG, "check")] * len(FORMS)
    for row, form in zip(wrong, FORMS, strict=True):
        assert str(row.reason).startswith(reason.format(form))


def test_distributions_whose_operands_fit_their_scores_keep_them(tmp_path: Path) -> None:
    results = rows(tmp_path, "mask", check={"distributions": ["minus-infinity-columns"]})
    assert {row.status for row in results} == {Status.PASSED}
