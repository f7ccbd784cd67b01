"""A run's folder: what survives a kill, what is refused, and the tables made of the journals."""

import json

import pandas
import pytest
from example_results import example_manifest, example_result, example_round, failed_result, load

from harness.artifact.device_facts import DeviceFacts
from harness.results.format_version import FORMAT_VERSION
from harness.results.frame import results_frame
from harness.results.loading import choice_of
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import samples_frame
from harness.system.errors import InputError


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "sweep", example_manifest())


def test_runs_that_start_in_the_same_second_get_their_own_folders(tmp_path):
    paths = {RunFolder.create(tmp_path, "sweep", example_manifest()).path for _ in range(20)}
    assert len(paths) == 20


def test_latest_goes_by_time_then_by_number_and_skips_what_is_no_run(tmp_path, folder):
    names = ("2099-01-01T00-00-00", "2099-01-01T00-00-00-9", "2099-01-01T00-00-00-10", "kept by hand")
    manifest = (folder.path / "manifest.json").read_text()
    for name in names:
        (tmp_path / "sweep" / name).mkdir()
        (tmp_path / "sweep" / name / "manifest.json").write_text(manifest)
    (tmp_path / "sweep" / "2099-12-31T00-00-00").mkdir()
    assert RunFolder.latest_in(tmp_path / "sweep").run == "2099-01-01T00-00-00-10"


def test_a_run_without_rows_hides_none_that_has_some(tmp_path, folder):
    folder.append_result(example_result("a"))
    empty = RunFolder.create(tmp_path, "sweep", example_manifest())
    assert RunFolder.latest_in(tmp_path / "sweep").path == folder.path
    note, *_ = choice_of(tmp_path / "sweep", folder, folder.table())
    assert note.startswith(f"taken: {folder.path}, ")
    assert note.endswith(f"; not taken: {empty.run}")


def test_a_run_of_another_version_is_refused_in_one_line(folder):
    manifest = json.loads((folder.path / "manifest.json").read_text())
    manifest["format_version"] = 0
    manifest["a field of those days"] = 1
    (folder.path / "manifest.json").write_text(json.dumps(manifest))
    expected = f"{folder.path}: results format 0, this harness reads {FORMAT_VERSION}: rerun the experiment"
    for read in (RunFolder.open, load):
        with pytest.raises(InputError) as caught:
            read(folder.path)
        assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a manifest: expected a JSON object with format_version"),
        (f'{{"format_version": {FORMAT_VERSION}}}', "not a manifest: started: Field required"),
    ],
)
def test_an_unreadable_manifest_is_refused_in_one_line(folder, text, message):
    (folder.path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        RunFolder.open(folder.path)
    assert str(caught.value).startswith(str(folder.path / "manifest.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../up", "/etc"])
def test_an_experiment_name_never_leads_out_of_the_root(tmp_path, name):
    with pytest.raises(InputError, match="cannot be a folder's name"):
        RunFolder.create(tmp_path, name, example_manifest())


def test_parquet_holds_the_same_table_as_the_journal(folder):
    folder.append_result(
        example_result("a", params={"tile": 64, "pack": True}, stage_s={"llvm": 0.5}, busy=False)
    )
    folder.append_result(example_result("b", params={"order": "k", "mixed": "x"}))
    folder.append_result(failed_result("c", params={"mixed": 3}, max_abs_error=float("inf")))
    folder.finish()
    from_journal, from_parquet = load(folder.path), pandas.read_parquet(folder.path / "results.parquet")
    pandas.testing.assert_frame_equal(from_parquet, from_journal)
    rows = [row.model_copy(update={"run": folder.run}) for row in folder.results()]
    pandas.testing.assert_frame_equal(from_journal, results_frame(rows))


def test_samples_table_has_one_row_per_sample(folder):
    folder.append_round(example_round(0))
    on_device = {
        "device": {"a": DeviceFacts(clock_mhz=1000), "b": DeviceFacts(launch_s=1e-6, clock_mhz=1980)},
        "throttled": {"a": "power cap"},
    }
    folder.append_round(example_round(1, seconds={"b": [0.4]}, load=0.25, **on_device))
    folder.finish()
    samples = pandas.read_parquet(folder.path / "samples.parquet")
    columns = ["case", "group", "start", "round", "seconds", "load", "launch_s", "clock_mhz", "counted"]
    assert samples[columns].fillna(0).values.tolist() == [
        ["a", "g", 0, 0, 0.1, 0.5, 0, 0, True],
        ["b", "g", 0, 0, 0.2, 0.5, 0, 0, True],
        ["b", "g", 0, 0, 0.3, 0.5, 0, 0, True],
        ["b", "g", 0, 1, 0.4, 0.25, 1e-6, 1980, True],
    ]
    pandas.testing.assert_frame_equal(samples, samples_frame(folder.rounds()))


def test_finishing_again_brings_the_tables_up_to_date_and_leaves_no_temporary_file(folder):
    folder.append_result(example_result("a"))
    folder.append_round(example_round(0))
    folder.finish()
    folder.append_result(example_result("b"))
    folder.finish()
    folder.release()
    assert pandas.read_parquet(folder.path / "results.parquet")["case"].tolist() == ["a", "b"]
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "manifest.json",
        "results.jsonl",
        "results.parquet",
        "rounds.jsonl",
        "samples.parquet",
    ]


def test_the_manifest_tells_of_the_end_and_of_being_taken_up_again(folder):
    assert folder.manifest.finished is None
    folder.finish()
    assert RunFolder.open(folder.path).manifest.finished is not None
    folder.mark_resumed(example_manifest())
    reopened = RunFolder.open(folder.path).manifest
    assert reopened.finished is None
    assert len(reopened.resumed) == 1


def test_measured_bandwidths_add_up_in_the_manifest(folder):
    folder.record_bandwidths({"cpu threads=1": {"memory": 2e10}}, {"f32 on mine": {"peak": "no"}})
    RunFolder.open(folder.path).record_bandwidths({"cpu threads=2": {"memory": 3e10}}, {})
    manifest = RunFolder.open(folder.path).manifest
    assert manifest.bandwidths == {"cpu threads=1": {"memory": 2e10}, "cpu threads=2": {"memory": 3e10}}
    assert manifest.unmeasured == {"f32 on mine": {"peak": "no"}}


def test_the_texts_of_a_manifest_are_printable_but_for_the_experiment(folder):
    file = folder.path / "manifest.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "question": "a\x1b[31mb", "source": "name = 1\n"}))
    manifest = RunFolder.open(folder.path).manifest
    assert (manifest.question, manifest.source) == ("a\\x1b[31mb", "name = 1\n")


def test_of_a_repeated_case_the_table_has_the_newest_row_at_the_place_of_the_first(folder):
    for result in (failed_result("a"), example_result("b"), example_result("a", time_s=0.5)):
        folder.append_result(result)
    table = load(folder.path)
    assert table["case"].tolist() == ["a", "b"]
    assert table["status"].tolist() == ["passed", "passed"]
    assert table["time_s"].tolist() == [0.5, 0.25]
