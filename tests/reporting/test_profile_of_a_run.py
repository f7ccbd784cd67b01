"""A report of a run of a profile draws the figures of that profile."""

from pathlib import Path

from synthetic_results import RESULTS, example_manifest

from harness.reporting.runs import read_runs
from harness.results.run_folder import RunFolder

SOURCE = """
variants = ["unfused", "flash", "naive"]
[figures]
throughput = { style = "lines" }
speedup = {}
[profiles.cpu]
variants = ["flash", "unfused"]
figures = { throughput = { style = "bars" } }
"""


def write_run(root: Path, profile: str | None) -> Path:
    manifest = example_manifest(SOURCE, "sweep").model_copy(update={"profile": profile})
    run = RunFolder.create(root, "sweep", manifest)
    for result in RESULTS:
        run.append_result(result)
    return run.path


def test_figures_and_variants_are_those_of_the_profile(tmp_path: Path) -> None:
    runs = read_runs([write_run(tmp_path, "cpu")])
    assert runs.figures == {"throughput": {"style": "bars"}, "speedup": {}}
    assert runs.variants == ("flash", "unfused")


def test_without_a_profile_they_are_the_experiments_own(tmp_path: Path) -> None:
    runs = read_runs([write_run(tmp_path, None)])
    assert runs.figures["throughput"] == {"style": "lines"}
    assert runs.variants == ("unfused", "flash", "naive")
