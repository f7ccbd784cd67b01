"""Published points of an experiment's problems as rows of their own, for figures without any measurement."""

from collections.abc import Mapping
from typing import Any

from harness.experiment.experiment import Experiment
from harness.problem.attention_problem import AttentionProblem
from harness.problem.fields import problem_fields
from harness.reporting.frames import prepare, records
from harness.reporting.published.points import OF_SERIES, PROBLEM, SOURCE, published_points
from harness.reporting.runs import Runs
from harness.results.frame import results_frame
from harness.results.result import LONGEST_NAME, Result
from harness.system.errors import InputError

PUBLISHED = "published"


def published_alone(experiment: Experiment, overlaid: Mapping[str, Any]) -> Runs:
    """Return the points of an experiment's problems as the rows of a run that nobody has run."""
    problems = {case.problem for case in experiment.cases()}
    forms = {tuple(getattr(problem, name) for name in PROBLEM) for problem in problems if _is_plain(problem)}
    points = published_points(
        file=overlaid.get("published_file"), with_package=bool(overlaid.get(PUBLISHED, True))
    )
    chosen = points[[form in forms for form in points[list(PROBLEM)].itertuples(index=False, name=None)]]
    if chosen.empty:
        raise InputError(f"{experiment.name}: found no published point of a problem of this experiment")
    rows = [_row(experiment.name, number, point) for number, point in enumerate(records(chosen))]
    cases = [row.case for row in rows]
    of_points = chosen[[SOURCE, *OF_SERIES]].assign(case=cases)
    return Runs(
        folders=(),
        names=(),
        manifests=(),
        frame=prepare(results_frame(rows)).merge(of_points, on="case"),
        figures=dict(experiment.figures),
    )


def _is_plain(problem: AttentionProblem) -> bool:
    """Whether a problem is no other than its sizes, its dtype, a causal mask and sinks say."""
    sizes = {name: getattr(problem, name) for name in PROBLEM}
    return problem == AttentionProblem(
        **sizes, seq_kv=problem.seq_q, scale=problem.scale, causal_alignment=problem.causal_alignment
    )


def _row(experiment: str, number: int, point: dict[str, Any]) -> Result:
    problem = AttentionProblem(**{name: point[name] for name in PROBLEM})
    columns = {
        field.column_name: field.column(getattr(problem, name))
        for name, field in problem_fields().items()
        if not name.endswith("_axes")
    }
    is_timed = point["tflops"] == point["tflops"]
    rate = {"tflops": point["tflops"], "time_s": problem.flops() / point["tflops"] / 1e12} if is_timed else {}
    return Result(
        experiment=experiment,
        run=PUBLISHED,
        case=f"{PUBLISHED} {number}",
        variant=point["label"][:LONGEST_NAME],
        target=PUBLISHED,
        device=point["device"] or None,
        status=point["status"],
        mask=problem.mask_name,
        flops=problem.flops(),
        **columns,
        **rate,
    )
