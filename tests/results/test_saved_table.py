"""The table beside a journal: the same as the journal's, and believed no more than the journal would be."""

import json
import math
import os
from threading import Thread

import pandas
import pyarrow
import pytest
from example_results import example_manifest, example_result, example_round, failed_result
from pyarrow import parquet
from sweeps import sweep

from harness.digest import digest
from harness.errors import InputError
from harness.results import loading, run_folder, saved_table
from harness.results.format_version import FORMAT_VERSION
from harness.results.loading import load
from harness.results.result import BY_NAME, PRINTED, Result
from harness.results.run_folder import RunFolder
from harness.results.saved_table import read_table
from harness.results.timing_rounds import samples_frame

ROWS = [
    example_result("a", params={"tile": 64, "pack": True}, stage_s={"llvm": 0.5}, busy=False),
    example_result("b", params={"order": "k", "mixed": "x"}, chosen={"tile": 8}, load=0.25, registers=12),
    failed_result("c", params={"mixed": 3, "part": 0.5}, error_ratio=math.inf, reason="ünlucky, «quoted»"),
    example_result("d", params={"part": 2}, stage_s={"tiled": 0.1, "llvm": 0.2}, model={"bound": "reads"}),
    failed_result("a", bias=True, window="3:none", instructions={"fma": 7}),
]
"""Rows with every kind of column; the first case is repeated."""


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    for row in ROWS:
        folder.append_result(row)
    folder.finish()
    return folder


def from_table(folder):
    return read_table(folder.path / "results.parquet", folder.path / "results.jsonl")


def from_journal(folder):
    return run_folder.tables_from_journals([folder])


def rewritten(folder, change, **options):
    """Write the table again as `change` makes it; its metadata still say that it is the journal's."""
    path = folder.path / "results.parquet"
    table = parquet.read_table(path)
    changed = change(table)
    parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path, **options)


def with_column(name, values, kind=None):
    def change(table):
        place = table.column_names.index(name)
        return table.set_column(place, name, pyarrow.array(values, kind or table.schema.field(name).type))

    return change


def test_table_and_journal_give_the_same_frame(folder):
    table = from_table(folder)
    assert table is not None
    pandas.testing.assert_frame_equal(table, from_journal(folder), check_exact=True)
    assert table["case"].tolist() == ["a", "b", "c", "d"]
    assert table["status"].tolist() == ["crashed", "passed", "crashed", "passed"]


@pytest.fixture
def without_text_type(recwarn):
    """Let `str` mean what it meant to older versions of pandas, as an imported plugin can."""
    with pandas.option_context("future.infer_string", False):
        yield


def test_tables_are_the_same_whatever_pandas_makes_of_texts(folder, request):
    expected, samples = from_journal(folder), samples_frame([example_round()])
    request.getfixturevalue("without_text_type")
    saved_table.write_table(
        from_journal(folder),
        folder.path / "results.parquet",
        saved_table.journal_digest(folder.path / "results.jsonl"),
    )
    for found in (from_journal(folder), from_table(folder), load(folder.path)):
        pandas.testing.assert_frame_equal(found, expected, check_exact=True, check_column_type=False)
    assert list(samples_frame([example_round()]).dtypes) == list(samples.dtypes)


def test_a_run_without_rows_has_the_same_frame_too(tmp_path):
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.finish()
    pandas.testing.assert_frame_equal(load(folder.path), from_journal(folder))


def test_the_table_is_read_instead_of_the_journal(folder, monkeypatch):
    expected = load(folder.path)
    monkeypatch.setattr(RunFolder, "lines", lambda self: pytest.fail("the journal was read"))
    pandas.testing.assert_frame_equal(load(folder.path), expected)


def test_the_journal_is_read_where_the_system_refuses_a_thread(folder, monkeypatch):
    expected = load(folder.path)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refuse)
    assert load(folder.path).equals(expected)


def test_the_end_of_a_run_makes_its_table_from_the_journal(folder):
    rewritten(folder, with_column("variant", ["liar"] * 4))
    assert from_table(folder)["variant"].tolist() == ["liar"] * 4
    folder.finish()
    assert from_table(folder)["variant"].tolist() == ["flash"] * 4


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_an_edited_journal_is_read_itself(folder, number):
    journal = folder.path / "results.jsonl"
    lines = journal.read_text().splitlines()
    lines[number] = lines[number].replace('"flash"', '"edited"')
    journal.write_text("\n".join(lines) + "\n")
    assert from_table(folder) is None
    assert ("edited" in set(load(folder.path)["variant"])) == (number != 0)


def test_a_journal_that_went_on_is_read_itself(folder):
    folder.append_result(example_result("e"))
    assert from_table(folder) is None
    assert load(folder.path)["case"].tolist() == ["a", "b", "c", "d", "e"]


def test_a_broken_line_is_found_although_there_is_a_table(folder):
    with (folder.path / "results.jsonl").open("a") as journal:
        journal.write("{}\n")
    with pytest.raises(InputError, match=r"results\.jsonl:6: not a result"):
        load(folder.path)


def test_a_table_of_another_version_is_not_used(folder, monkeypatch):
    monkeypatch.setattr(saved_table, "LAYOUT", "another")
    assert from_table(folder) is None


def test_a_table_that_may_hold_fractions_of_refuted_peaks_is_not_used(folder, monkeypatch):
    fields = [(name, str(field.annotation)) for name, field in Result.model_fields.items()]
    monkeypatch.setattr(saved_table, "LAYOUT", digest([FORMAT_VERSION, fields]))
    folder.finish()
    assert from_table(folder) is not None
    monkeypatch.undo()
    assert from_table(folder) is None


def test_a_table_without_metadata_is_not_used(folder):
    path = folder.path / "results.parquet"
    pandas.read_parquet(path).to_parquet(path, index=False)
    assert from_table(folder) is None


HOSTILE = {
    "str": ["", None, "\x1b[31mred", "a\nb", "‮reversed", "fine", "passed", "wrong", "a" * 201],
    "int64": [0, 1, -1, 2**63 - 1, None],
    "Int64": [0, 1, -1, 2**63 - 1, None],
    "float64": [0.0, 0.5, 1.0, 1.5, -1.0, math.inf, -math.inf, None],
    "bool": [True, False, None],
    "boolean": [True, False, None],
}
NAMES_OF_FOLDERS = ("experiment", "run")
"""Columns that are read off the run's folder, whatever journal and table say."""

PLAIN_FIELDS = [name for name in Result.model_fields if name not in (*BY_NAME, *PRINTED, *NAMES_OF_FOLDERS)]
"""Columns whose value is a field's own; others are named by entries, or printed of several."""


FIELDS_OF_EVERY_RUN = (
    "case",
    "status",
    "variant",
    "reason",
    "seq_q",
    "causal",
    "flops",
    "registers",
    "time_s",
    "speedup_low",
    "fraction_of_peak",
    "busy",
)


@pytest.mark.parametrize("name", sweep(PLAIN_FIELDS, but=FIELDS_OF_EVERY_RUN))
def test_a_table_holds_nothing_that_the_journal_cannot(tmp_path, name):
    """Of each value of each column: the table is used where a journal with this value gives the same."""
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.append_result(ROWS[1])
    folder.finish()
    honest = (folder.path / "results.parquet").read_bytes()
    journal = folder.path / "results.jsonl"
    row = json.loads(journal.read_text())
    for value in HOSTILE[saved_table.column_dtype(name)]:
        (folder.path / "results.parquet").write_bytes(honest)
        rewritten(folder, with_column(name, [value]))
        table = from_table(folder)
        written = journal.read_text()
        journal.write_text(json.dumps({**row, name: value}) + "\n")
        try:
            expected = from_journal(folder)
        except InputError:
            expected = None
        journal.write_text(written)
        if table is None and name in ("seq_q", "seq_kv"):  # `seq` does not follow
            continue
        if table is None:
            given = None if expected is None else expected[name].astype(object)[0]
            missing = given is None or given is pandas.NA or given != given
            assert expected is None or (missing and value is not None) or given != value, value
        else:
            pandas.testing.assert_frame_equal(table, expected)


@pytest.mark.parametrize("at_once", [1, 2, 7, 1000])
def test_a_table_is_the_same_however_many_columns_are_read_together(folder, monkeypatch, at_once):
    folder.append_result(example_result("e", instructions={"mma": 1, "mma.sync": 2, "mma.sync.k16": 3}))
    folder.finish()
    monkeypatch.setattr(saved_table, "COLUMNS_AT_ONCE", at_once)
    pandas.testing.assert_frame_equal(from_table(folder), from_journal(folder))


def test_some_columns_are_read_with_those_that_they_are_checked_by(folder):
    path, journal = folder.path / "results.parquet", folder.path / "results.jsonl"
    table = read_table(path, journal, ["time_s", "reason", "no such column"])
    assert list(table.columns) == ["case", "status", "reason", "time_s"]
    whole = from_table(folder)
    pandas.testing.assert_frame_equal(table, whole[list(table.columns)])
    assert folder.table(["time_s"])["time_s"].equals(whole["time_s"])
    rewritten(folder, with_column("time_s", [-1.0] * 4))
    assert read_table(path, journal, ["time_s"]) is None
    assert read_table(path, journal, ["reason"]) is not None


def _renamed(old, new):
    return lambda table: table.rename_columns([new if name == old else name for name in table.column_names])


LIES = {
    "a case twice": with_column("case", ["a", "b", "c", "a"]),
    "a column of another type": with_column("batch", ["1"] * 4, pyarrow.string()),
    "wider floats in a column of counts": with_column("flops", [1.0] * 4, pyarrow.float64()),
    "a parameter of dates": with_column("param.tile", [1] * 4, pyarrow.date32()),
    "a stage in lists": with_column("stage_s.llvm", [[1.0]] * 4, pyarrow.list_(pyarrow.float64())),
    "a column that steers a terminal": _renamed("stage_s.llvm", "stage_s.\x1b[2J"),
    "an unknown column": _renamed("stage_s.llvm", "unknown"),
    "a column twice": _renamed("stage_s.llvm", "case"),
    "a column less": lambda table: table.drop_columns(["status"]),
    "a column more": lambda table: table.append_column("more", pyarrow.array([1.0] * 4)),
    "a stage of another name": _renamed("stage_s.llvm", "stage_s.llwm"),
    "another order": lambda table: table.select(table.column_names[::-1]),
    "a parameter that steers a terminal": with_column("params", ["\x1b[2J"] * 4),
    "more rows than lines": lambda table: pyarrow.concat_tables([table] * 1_000),
    "more text than the journal": with_column("reason", ["long " * 100_000] * 4),
    "no column": lambda table: table.select([]),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_table_that_cannot_be_the_journals_is_ignored(folder, lie):
    expected = from_journal(folder)
    rewritten(folder, LIES[lie])
    assert from_table(folder) is None
    pandas.testing.assert_frame_equal(load(folder.path), expected)


def test_text_that_is_no_utf8_is_ignored(folder):
    broken = pyarrow.array([b"\xff\xfe"] * 4, pyarrow.binary()).view(pyarrow.string())
    rewritten(folder, with_column("device", broken, pyarrow.string()))
    assert from_table(folder) is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 400 + b"PAR1", b"{}\n" * 100])
def test_what_is_no_table_is_ignored(folder, content):
    expected = from_journal(folder)
    (folder.path / "results.parquet").write_bytes(content)
    pandas.testing.assert_frame_equal(load(folder.path), expected)


@pytest.mark.parametrize("step", sweep([97, 1009], but=[1009]))
def test_flipped_bits_never_change_what_is_read(folder, step):
    path = folder.path / "results.parquet"
    honest, expected = path.read_bytes(), from_journal(folder)
    for place in range(4, len(honest), step):
        path.write_bytes(honest[:place] + bytes([honest[place] ^ 0x55]) + honest[place + 1 :])
        table = from_table(folder)
        assert table is None or table.equals(expected), place


def test_a_pipe_in_the_tables_place_is_not_waited_for(folder):
    path = folder.path / "results.parquet"
    path.unlink()
    os.mkfifo(path)
    assert len(load(folder.path)) == 4


def test_several_runs_are_read_from_their_journals(folder, tmp_path):
    other = RunFolder.create(tmp_path, "sweep", example_manifest())
    other.append_result(example_result("a", params={"tile": "wide"}))
    other.finish()
    merged = loading.tables_of([folder, other])
    pandas.testing.assert_frame_equal(merged, run_folder.tables_from_journals([folder, other]))
    assert merged["param.tile"].dropna().tolist() == ["wide"]


@pytest.mark.parametrize("name", NAMES_OF_FOLDERS)
def test_a_run_is_called_as_its_folder_whatever_its_table_says(tmp_path, name):
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.append_result(ROWS[1])
    folder.finish()
    rewritten(folder, with_column(name, ["another"]))
    assert from_table(folder)[name].tolist() == ["another"]
    assert loading.load(folder.path)[name].tolist() == [{"experiment": "sweep", "run": folder.run}[name]]
