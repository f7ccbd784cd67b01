"""Results, rounds and manifests for the tests of what stores and reads them."""

import functools
from pathlib import Path
from typing import Any

import pandas

from harness.problem.attention_problem import AttentionProblem
from harness.results.loading import different_runs, open_run
from harness.results.manifest import Manifest, collect
from harness.results.result import Result
from harness.results.run_folder import tables_of
from harness.results.timing_rounds import Round
from harness.system.status import Status

PROBLEM = AttentionProblem(batch=1, heads=2, seq_q=64, head_dim=16, causal=True)


def example_result(case: str = "0123456789ab", **changes: Any) -> Result:
    """A row that passed, with times; `changes` replace fields."""
    fields: dict[str, Any] = {
        "experiment": "sweep",
        "run": "2026-01-02T03-04-05",
        "case": case,
        "variant": "flash",
        "target": "cpu",
        "executor": "native",
        "status": Status.PASSED,
        **PROBLEM.model_dump(include=set(Result.model_fields) - {"kv_lengths", "window"}),
        "mask": PROBLEM.mask_name,
        "flops": PROBLEM.flops(),
        "time_s": 0.25,
        "time_low_s": 0.2,
        "time_high_s": 0.3,
        "samples": 12,
    }
    return Result(**{**fields, **changes})


def failed_result(case: str = "0123456789ab", status: Status = Status.CRASHED, **changes: Any) -> Result:
    """A row without times."""
    fields = {
        "status": status,
        "phase": "run",
        "reason": "signal 11",
        "time_s": None,
        "time_low_s": None,
        "time_high_s": None,
        "samples": None,
    }
    return example_result(case, **{**fields, **changes})


def example_round(number: int = 0, **changes: Any) -> Round:
    """A round in which two cases had their turn."""
    fields = {
        "group": "g",
        "round": number,
        "seconds": {"a": [0.1], "b": [0.2, 0.3]},
        "load": 0.5,
        "at": "2026-01-02T03:04:05+00:00",
    }
    return Round(**{**fields, **changes})


def load(*paths: str | Path) -> pandas.DataFrame:
    """The table of the runs in these folders."""
    return tables_of(different_runs(open_run(Path(path)) for path in paths))


@functools.cache
def example_manifest(experiment: str = "sweep") -> Manifest:
    """This machine's manifest, of files that are those of the commit."""
    told = collect(experiment, "Which is fastest?", 'name = "sweep"\n', ["harness", "run", "sweep.toml"])
    return told.model_copy(update={"git_dirty": False})
