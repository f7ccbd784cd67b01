"""The figures that the experiments in `experiments/` name can be read, once all cases have passed."""

from collections.abc import Iterator
from typing import Any

import pytest
from example_cases import accepted_record

from harness import plugins
from harness.bench.measure.rounds import TimedRound
from harness.bench.row_maker import GroupTimes, RowMaker
from harness.experiment.experiment import Experiment, load_experiment
from harness.experiment.experiment_file import text_of, toml_of
from harness.experiment.figure_settings import parse_settings
from harness.experiment.profiles import profile_names
from harness.experiment.shipped import experiment_files
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.system.status import Status

KNOWN: dict[str, Any] = {
    "model": {
        "fraction_of_peak": 0.6,
        "bound": "tensor",
        "cycles": 2e3,
        "scores": 4e3,
        "tensor_cycles": 1.2e3,
    },
    "executor": "native",
    "recompute_factor": 1.5,
    "error_ratio": 0.5,
    "registers": 128,
    "build_s": 1.0,
}
"""What the code of every case is said to be."""

EVERY_TIME = ("roofline", "roofline-cpu", "seq_sweep", "varlen_skew", "split_head_ranks-cpu")
"""Experiments whose figures are drawn in every run of the tests."""


def experiments() -> Iterator[Any]:
    """Yield every experiment that names figures, as it is and in each of its profiles."""
    for path in experiment_files():
        for profile in (None, *profile_names(toml_of(text_of(path), path))):
            experiment = load_experiment(path, profile)
            if experiment.figures:
                name = f"{path.stem}-{profile}" if profile else path.stem
                marks = () if name in EVERY_TIME else pytest.mark.sweep
                yield pytest.param(experiment, id=name, marks=marks)


def rows_of_a_run(experiment: Experiment) -> list[Result]:
    """Return the rows of a run in which all cases passed; where they are timed, their times differ."""
    maker = RowMaker(experiment.name, "2026-01-02T03-04-05", (), "run")
    rows = []
    for group in Experiment.groups(experiment.cases()):
        seconds = {case.id: 1e-3 * place for place, case in enumerate(group, 1)}
        baseline = next((case for case in group if case.variant == experiment.baseline), None)
        times = GroupTimes([TimedRound(seconds, load=0.0)], busy_limit=1.0, baseline=baseline)
        for case in group:
            record = accepted_record(case, device="Example CPU")
            row = maker.success(record, Status.PASSED, times if experiment.timing.enabled else None)
            rows.append(row.model_copy(update=KNOWN))
    return rows


@pytest.mark.parametrize("experiment", list(experiments()))
def test_every_figure_of_all_cases_can_be_read(experiment: Experiment) -> None:
    frame = prepare(results_frame(rows_of_a_run(experiment)), experiment.variants)
    for name, values in experiment.figures.items():
        figure = plugins.load("figure", name)
        figure.draw(frame, parse_settings(figure, values, experiment.variants), "")
