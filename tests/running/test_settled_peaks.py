"""The peaks that rows are compared with in the end: each with that of its own case."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from example_cases import example_experiment
from example_results import example_manifest, example_result

from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.running.context import RunContext
from harness.running.peak_names import name_peak
from harness.running.progress import PlainObserver
from harness.running.runner import run_experiment

pytestmark = pytest.mark.usefixtures("example_plugin")


def sizes(*values: int) -> Experiment:
    """The same problem with a peak of the product of small matrices, and of larger ones."""
    timing = {"min_sample_s": 1e-5, "min_rounds": 4, "max_rounds": 4, "starts": 1}
    options = {"numpy": {"peak_size": list(values)}}
    return example_experiment(["numpy-attention"], target=options, timing=timing)


def row_of(case: Case, **fields: Any) -> Result:
    """A row as an older version has written it: with another row's peak, and without its options."""
    known = {"target": case.target, "threads": 1, "tflops": 0.5, "peak_tflops": 9.0, "run": "run-1"}
    return example_result(case.id, **{**known, **fields})


def settle(experiment: Experiment, cases: list[Case], tmp_path: Path) -> list[Result]:
    """Settle rows of earlier parts of a run, whose peaks are 1 TFLOP/s and 2 TFLOP/s and so on."""
    peaks = {name_peak(case).name: number * 1e12 for number, case in enumerate(cases, 1)}
    folder = RunFolder.create(tmp_path, "tiny", example_manifest().model_copy(update={"peaks": peaks}))
    rows = [row_of(case) for case in cases]
    for row in rows:
        folder.append_result(row)
    context = RunContext(
        experiment, folder, PlainObserver(StringIO()), timed=True, earlier={row.case: row for row in rows}
    )
    context.settle_peaks()
    return folder.results()


def test_rows_are_compared_with_the_peak_of_their_own_options(tmp_path: Path) -> None:
    experiment = sizes(16, 256)
    rows = settle(experiment, list(experiment.cases()), tmp_path)
    assert [row.peak_tflops for row in rows] == [1.0, 2.0]
    assert [row.fraction_of_peak for row in rows] == [0.5, 0.25]
    assert [row.target_options for row in rows] == [{"peak_size": 16}, {"peak_size": 256}]


def test_a_row_whose_case_the_experiment_has_no_more_stays_as_it_is(tmp_path: Path) -> None:
    rows = settle(sizes(256), list(sizes(16, 256).cases()), tmp_path)
    assert [row.peak_tflops for row in rows] == [9.0, 2.0]


def test_options_that_a_peak_depends_on_have_peaks_of_their_own(tmp_path: Path) -> None:
    experiment = sizes(16, 256)
    cases = experiment.cases()
    for asked, resume in ((cases[:1], False), (cases[1:], True), (cases, True)):
        summary = run_experiment(
            experiment,
            asked,
            out=tmp_path,
            resume=resume,
            timed=True,
            observer=PlainObserver(StringIO()),
            command=["harness", "run", "tiny.toml"],
        )
    folder = RunFolder.open(summary.folder)
    peaks = folder.manifest.peaks
    assert len(set(peaks.values())) == 2
    expected = [peaks[f"numpy f32 peak_size={size} threads=1"] / 1e12 for size in (16, 256)]
    assert [row.peak_tflops for row in folder.results()] == expected
    assert [row.peak_tflops for row in summary.results] == expected
