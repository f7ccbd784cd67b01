"""Timings in long form, a row for each sample: what seaborn, or any other library of plots, takes."""

import pandas as pd

from harness.reporting.runs import Runs
from harness.results.result import TIMING_FIELDS
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import SAMPLE_COLUMNS, samples_frame
from harness.system.errors import InputError

ROUND = ("group", "start", "round")
"""What the samples of candidates that were timed in turns share."""


def tidy_samples(runs: Runs) -> pd.DataFrame:
    """Return a row for each sample that the rows of runs are made of, with what these say of their cases."""
    samples = pd.concat(
        [
            _samples_of(RunFolder.open(folder), runs.frame[runs.frame["run"] == name])
            for folder, name in zip(runs.folders, runs.names, strict=True)
        ],
        ignore_index=True,
    )
    if samples.empty:
        raise InputError(f"{runs.folders[0]}: found no timing sample of these cases, expected some")
    return samples


def _samples_of(run: RunFolder, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the counted samples of the cases of some rows, all of one run."""
    samples = samples_frame(run.rounds()).rename(columns={"seconds": "time_s"})
    of_cases = rows.drop(columns=[name for name in (*TIMING_FIELDS, *SAMPLE_COLUMNS) if name in rows])
    of_cases = of_cases.assign(case=rows["case"])
    frame = of_cases.merge(samples[samples["counted"]].drop(columns="counted"), on="case")
    of_rounds = samples.groupby([*ROUND, "case"])["time_s"].median()
    baselines = pd.MultiIndex.from_frame(frame[[*ROUND, "baseline_case"]])
    speedup = of_rounds.reindex(baselines).to_numpy() / frame["time_s"]
    return frame.assign(tflops=frame["flops"] / frame["time_s"] / 1e12, speedup=speedup)
