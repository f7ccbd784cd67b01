"""Every form of attention that variants have for targets, built and checked, as `harness support` tells."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness import plugins
from harness.bench.building.support import Support
from harness.bench.running.progress import Observer
from harness.bench.running.runner import RunSummary, run_experiment
from harness.experiment.experiment import parse_experiment
from harness.problem.case import Case
from harness.problem.forms import FORMS

EXPERIMENT = """
name = "forms"
question = "Is every form right that the variants say they have?"
variants = {variants}
targets = {targets}

[problem]       # each case has a problem of its own
heads = 1
seq = 1
head_dim = 8

[check]
distributions = ["normal", "negative-logits"]

[timing]
enabled = false
"""


def form_cases(answers: Iterable[Support]) -> list[Case]:
    """Return a case for each form that a variant says it has for a target; no case twice."""
    forms = {form.name: form for form in FORMS}
    cases = (
        Case(
            problem=forms[answer.form].problem(plugins.variant(answer.variant).needed),
            variant=answer.variant,
            target=answer.target,
        )
        for answer in answers
        if answer.reason is None
    )
    return list({case.id: case for case in cases}.values())


def check_forms(
    cases: Sequence[Case], *, out: Path, observer: Observer, command: Sequence[str], jobs: int
) -> RunSummary:
    """Build and check cases of forms; results go to `out/forms/<run>/`."""
    text = EXPERIMENT.format(
        variants=json.dumps(list(dict.fromkeys(case.variant for case in cases))),
        targets=json.dumps(list(dict.fromkeys(case.target for case in cases))),
    )
    return run_experiment(
        parse_experiment(text, Path("forms.toml")),
        cases,
        out=out,
        resume=False,
        timed=False,
        observer=observer,
        command=command,
        jobs=jobs,
    )
