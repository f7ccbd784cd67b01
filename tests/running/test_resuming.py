"""Which of several runs of an experiment `--resume` continues."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from example_results import example_manifest, example_result, failed_result

from harness.errors import InputError
from harness.machine.gpus import GpuDevice
from harness.results.run_folder import RunFolder
from harness.running.resuming import AskedFor, progress_of, run_to_resume, why_none_is_resumed

WHOLE = ("a", "b", "c", "d")


def make_run(root: Path, planned: str | None, finished: str) -> RunFolder:
    """Write a run that planned some of the cases a … d, and finished some of these."""
    run = RunFolder.create(root, "sweep", example_manifest())
    if planned is not None:
        run.plan(planned, WHOLE)
    for case in finished:
        run.append_result(example_result(case))
    return run


def asked_for(wanted: str = "abcd", **more: Any) -> AskedFor:
    return AskedFor(wanted, WHOLE, **more)


def resumed(root: Path, wanted: str = "abcd", **more: Any) -> str | None:
    run = run_to_resume(root / "sweep", asked_for(wanted, **more))
    return None if run is None else run.run


def test_without_any_run_there_is_none(tmp_path: Path) -> None:
    assert resumed(tmp_path) is None


def test_an_unfinished_run_goes_before_a_newer_one_of_a_part(tmp_path: Path) -> None:
    unfinished = make_run(tmp_path, "abcd", finished="a")
    make_run(tmp_path, "b", finished="b")
    assert resumed(tmp_path) == unfinished.run


def test_of_several_unfinished_runs_the_newest_goes_on(tmp_path: Path) -> None:
    make_run(tmp_path, "abcd", finished="ab")
    newest = make_run(tmp_path, "abcd", finished="a")
    assert resumed(tmp_path) == newest.run


def test_an_unfinished_run_that_a_newer_one_has_made_up_for_is_passed_over(tmp_path: Path) -> None:
    make_run(tmp_path, "abcd", finished="ab")
    whole = make_run(tmp_path, "abcd", finished="abcd")
    assert resumed(tmp_path) == whole.run


def test_a_case_that_the_experiment_has_no_longer_leaves_no_run_unfinished(tmp_path: Path) -> None:
    make_run(tmp_path, "abcdx", finished="abcd")
    whole = make_run(tmp_path, "abcd", finished="abcd")
    assert resumed(tmp_path) == whole.run


def test_of_finished_runs_the_newest_that_planned_most_of_what_is_wanted(tmp_path: Path) -> None:
    make_run(tmp_path, "abcd", finished="abcd")
    whole = make_run(tmp_path, "abcd", finished="abcd")
    part = make_run(tmp_path, "b", finished="b")
    assert resumed(tmp_path) == whole.run
    assert resumed(tmp_path, "b") == part.run


def test_a_run_of_an_older_version_counts_by_its_end_and_its_rows(tmp_path: Path) -> None:
    old = make_run(tmp_path, None, finished="abcd")
    assert resumed(tmp_path) == old.run
    old.finish()
    make_run(tmp_path, "b", finished="b")
    assert resumed(tmp_path) == old.run


def test_the_newest_run_must_be_readable_and_older_ones_need_not(tmp_path: Path) -> None:
    first, second = (make_run(tmp_path, "a", finished="") for _ in range(2))
    (first.path / "manifest.json").write_text("{}")
    assert resumed(tmp_path) == second.run
    (second.path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="not a manifest"):
        resumed(tmp_path)


def test_runs_of_other_machines_do_not_go_on_here(tmp_path: Path) -> None:
    here = make_run(tmp_path, "abcd", finished="ab")
    there = make_run(tmp_path, "abcd", finished="a")
    write_manifest(there, device="Fast CPU (avx512, 64 cores)")
    assert resumed(tmp_path) == here.run
    write_manifest(here, gpus=(GpuDevice("Fast GPU", "sm_999"),))
    assert resumed(tmp_path) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for()) == (
        f" (runs of other machines: Fast CPU (avx512, 64 cores), {here.manifest.device}, Fast GPU)"
    )


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({"cores_usable": 3, "cores_logical": 8}, "3 of 8 processors"),
        ({"cores_usable": 8, "cores_logical": 8, "cpu_quota": 1.5}, "the time of 1.5"),
    ],
)
def test_a_run_that_could_use_more_or_fewer_cores_does_not_go_on(
    tmp_path: Path, changes: dict[str, Any], share: str
) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    write_manifest(run, machine=run.manifest.machine.model_copy(update=changes))
    assert resumed(tmp_path) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for()) == (
        f" (runs of other machines: {run.manifest.device}, {share})"
    )


def test_a_check_does_not_go_on_with_a_run_that_has_times(tmp_path: Path) -> None:
    timed = make_run(tmp_path, "abcd", finished="")
    timed.append_result(example_result("a", time_s=1.0))
    assert resumed(tmp_path) == timed.run
    assert resumed(tmp_path, timed=False) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for(timed=False)) == (
        f" (runs with times, which a check would not measure again: {timed.run})"
    )


def test_of_whole_runs_the_one_with_times_goes_on_if_times_are_wanted(tmp_path: Path) -> None:
    timed = make_run(tmp_path, "abcd", finished="bcd")
    timed.append_result(example_result("a", time_s=1.0))
    check = make_run(tmp_path, "abcd", finished="")
    for case in "abcd":
        check.append_result(failed_result(case))
    assert resumed(tmp_path) == timed.run
    assert resumed(tmp_path, timed=False) == check.run


@pytest.mark.parametrize(
    "changes",
    [
        {"code_digest": "another"},
        {"plugin_code": {"a_plugin": "another"}},
        {"packages": {"numpy": "1.0"}},
        {"python": "CPython 2.7.18"},
    ],
)
def test_what_came_in_a_bundle_goes_on_with_the_code_that_runs_it_only(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    ran = {"plugin_code": {"a_plugin": "as it was", "b_plugin": "as it is"}}
    write_manifest(run, **ran)
    here = run.manifest.model_copy(update=ran)
    asked = here.model_copy(update={"plugin_code": {"b_plugin": "as it is"}})
    now = here.model_copy(update=changes)
    assert resumed(tmp_path, described=here, is_bundle=True) == run.run
    assert resumed(tmp_path, described=asked, is_bundle=True) == run.run, "only a part is asked for"
    assert resumed(tmp_path, described=now) == run.run, "keys name all code that is not of a bundle"
    assert resumed(tmp_path, described=now, is_bundle=True) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for(described=now, is_bundle=True)) == (
        f" (runs with other code or packages on this machine: {run.run})"
    )
    write_manifest(run, **ran, built=run.manifest)
    assert resumed(tmp_path, described=now) is None, "whatever resumes it"


def write_manifest(run: RunFolder, **changes: Any) -> None:
    manifest = run.manifest.model_copy(update=changes)
    (run.path / "manifest.json").write_text(manifest.model_dump_json())


@pytest.mark.parametrize("finished", ["", "xy"])
def test_a_run_of_another_experiment_of_the_same_name_does_not_go_on(tmp_path: Path, finished: str) -> None:
    part = make_run(tmp_path, "b", finished="b")
    other = make_run(tmp_path, "xy", finished=finished)
    assert resumed(tmp_path, "a") == part.run
    shutil.rmtree(part.path)
    assert resumed(tmp_path) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for()) == (
        f" (runs without any case of this experiment: {other.run})"
    )


def test_a_run_of_another_profile_does_not_go_on(tmp_path: Path) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    write_manifest(run, profile="cpu")
    assert resumed(tmp_path) is None
    assert why_none_is_resumed(tmp_path / "sweep", asked_for()) == " (runs of other profiles: cpu)"
    found = resumed(tmp_path, profile="cpu")
    assert found == run.run


def test_progress_counts_the_planned_cases_that_have_rows(tmp_path: Path) -> None:
    assert progress_of(make_run(tmp_path, "abc", finished="ad")) == "1 of 3 cases finished"
    assert progress_of(make_run(tmp_path, None, finished="a")) == ""


def test_a_plan_grows_with_what_is_asked_for_later(tmp_path: Path) -> None:
    run = make_run(tmp_path, "ab", finished="")
    assert (run.manifest.planned, run.manifest.left_out) == (("a", "b"), 2)
    run.plan("bc", WHOLE)
    assert (RunFolder.open(run.path).manifest.planned, run.manifest.left_out) == (("a", "b", "c"), 1)
