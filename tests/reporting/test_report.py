"""A report's files: tables, figures and text of one run or of several."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from synthetic_results import RESULTS, WriteRun, make_result

import harness
import harness.reporting
from harness.__main__ import main
from harness.reporting.report import ReportPaths, make_report
from harness.reporting.runs import read_runs
from harness.results.archive import write_archive
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError
from harness.system.status import Status


def png_only(*figures: str) -> str:
    return "[figures]\n" + "".join(f"{name} = {{}}\n" for name in figures)


def test_a_report_has_summary_tables_and_figures(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("throughput"))
    paths = make_report([folder])
    assert paths.folder == folder / "report"
    assert {file.name for file in paths.folder.iterdir()} == {
        "summary.md",
        "summary.tex",
        "results.csv",
        "report.html",
        "throughput.dat",
        "throughput.svg",
    }
    assert paths.figures == {"throughput": (paths.folder / "throughput.svg",)}
    assert (paths.folder / "throughput.svg").read_text().startswith("<?xml")


def test_the_text_holds_question_table_failures_and_figures(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    text = make_report([folder], formats=("png",)).summary_markdown.read_text()
    assert text.startswith("# seq_sweep\n\n**seq_sweep**: How fast?\n\n")
    assert f"`{folder.name}`: Example CPU, harness 0.1.0, commit 0123456, 2026-01-02" in text
    assert "| 256 | flash | passed | 2.00 |" in text
    assert "- **crashed** flash · cpu · b1 h16 s512 d64 f32 full threads=1 in run: signal 11" in text
    assert "rerun: `harness run --only case=9f`" in text
    assert "![matrix](matrix.png)\n\n*matrix*: Example CPU;" in text


def test_a_newest_run_without_times_names_the_one_that_has_them(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    timed = write_run([make_result("flash", time_s=1.0)], png_only("matrix"))
    write_run([make_result("flash")], png_only("matrix"))
    newest = write_run([make_result("flash")], png_only("matrix"))
    (note,) = read_runs([newest.parent]).notes
    assert note.startswith(f"taken: {newest}, by its name the newest with rows of 3 runs; ")
    assert note.endswith(f"nothing in it was timed, the newest with times is {timed}")
    assert read_runs([newest]).notes == read_runs([timed]).notes == ()
    harness.load(newest.parent)
    assert f"harness: {note}\n" in capsys.readouterr().err


def test_a_newest_run_that_is_only_a_part_says_so(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    RunFolder.open(folder).plan(["a"], ["a", "b", "c"])
    notes = (
        f"{folder}: not run yet: 1 planned case; --resume goes on",
        f"{folder}: not asked for: 2 cases of the experiment",
    )
    archive = folder.parent / "run.tar.gz"
    write_archive(folder, archive)
    assert read_runs([folder.parent]).notes == notes
    (line,) = read_runs([folder]).unfinished
    assert line == "0 of 1 case ran: the run was interrupted, or still goes on"
    paths = make_report([folder])
    assert paths.summary_markdown.read_text().split("\n\n")[1] == line
    assert capsys.readouterr().out.startswith(f"{line}\n")
    assert read_runs([folder]).notes == read_runs([archive]).notes == ()


def test_shards_that_are_missing_are_named_first(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [write_run([make_result("flash", seq)], png_only("matrix")) for seq in (1, 2, 3)]
    for folder, shard in zip(folders, ("2/4", "4/4", "1/4"), strict=True):
        manifest = folder / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"shard": shard}))
    line = "seq_sweep: 2 of 4 shards: 2, 4; missing: 1, 3"
    paths = make_report(folders[:2], tmp_path / "merged")
    assert capsys.readouterr().out.startswith(f"{line}\n")
    assert paths.summary_markdown.read_text().split("\n\n")[1] == line
    assert read_runs(folders).unfinished == ("seq_sweep: 3 of 4 shards: 1, 2, 4; missing: 3",)
    command = ["report", *map(str, folders), "--out", str(tmp_path / "merged")]
    assert [main(command), main([*command, "--strict"])] == [0, 1]
    for number, folder in enumerate(folders, start=1):
        manifest = folder / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"shard": f"{number}/3"}))
    assert main([*command, "--strict"]) == 0
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"shard": "many"}))
    with pytest.raises(InputError, match="not a manifest: shard"):
        read_runs(folders)


def test_a_peak_that_could_not_be_measured_is_a_line_of_the_report(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    RunFolder.open(folder).record_bandwidths(
        {}, {"f32 on mine": {"peak": "ZeroDivisionError: division by zero"}}
    )
    line = "the peak of f32 on mine could not be measured: ZeroDivisionError: division by zero"
    paths = make_report([folder], formats=("png",))
    assert line in paths.summary_markdown.read_text()
    assert paths.html is not None
    assert line in paths.html.read_text()


BAD_FIGURES = {
    'throughput = { x = "sequ" }': "figures.throughput.x: Input should be 'seq', ",
    'throughput = { title = "$\\\\frac{1$" }': r"figure throughput not drawn: ValueError: \frac{1",
}


@pytest.mark.parametrize("figure", BAD_FIGURES)
def test_a_figure_that_cannot_be_drawn_is_a_line_and_the_rest_is_there(
    write_run: WriteRun, figure: str
) -> None:
    folder = write_run(RESULTS, f"[figures]\n{figure}\nmatrix = {{}}\n")
    paths = make_report([folder], formats=("png",))
    (note,) = paths.notes
    assert BAD_FIGURES[figure] in note
    assert list(paths.figures) == ["matrix"]
    assert f"*{figure.split()[0]}* not drawn: " in paths.summary_markdown.read_text()
    assert paths.results_csv.exists()


def copies_of(run: Path, *folders: Path) -> list[Path]:
    """Copy a run, whose rows go on to carry the name that it had."""
    return [Path(shutil.copytree(run, folder)) for folder in folders]


def series_of(report: ReportPaths) -> set[str]:
    """Return the names of the series in a report's CSV file."""
    return {row["label"] for row in csv.DictReader(report.results_csv.open())}


def test_copies_of_a_run_keep_all_their_rows_and_are_told_apart(write_run: WriteRun, tmp_path: Path) -> None:
    runs = copies_of(
        write_run([make_result("flash")], png_only("matrix")), tmp_path / "old", tmp_path / "new"
    )
    report = make_report(runs, tmp_path / "merged", ("png",))
    assert series_of(report) == {"flash (old)", "flash (new)"}
    report = make_report(runs, tmp_path / "merged", ("png",), labels=["before", "after"])
    assert series_of(report) == {"flash (before)", "flash (after)"}


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("label", ["[/x]", ":smile:"])
def test_a_label_is_shown_letter_by_letter(
    write_run: WriteRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    label: str,
    by_row: bool,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    runs = [write_run(RESULTS, png_only("matrix"), name) for name in ("one", "two")]
    make_report(runs, tmp_path / "merged", ("png",), labels=[label, "[new]"], by_row=by_row)
    tables = capsys.readouterr().out.partition("crashed  ")[0]
    assert f"flash ({label})" in tables
    assert "flash ([new])" in tables


def test_each_run_needs_a_label_of_its_own(write_run: WriteRun, tmp_path: Path) -> None:
    runs = [write_run([make_result("flash")]) for _ in range(2)]
    for labels in (["one"], ["same", "same"]):
        with pytest.raises(InputError, match=r"--label: found .*, expected a different one for each of"):
            make_report(runs, tmp_path / "merged", labels=labels)


def test_captions_speak_of_rates_where_a_figure_shows_them(write_run: WriteRun) -> None:
    rows = [
        make_result(
            name, time_s=1.0, tflops=0.1, speedup=1.0, baseline="flash", peak_unit="fma", peak_noise=0.1
        )
        for name in ("flash", "torch")
    ]
    source = 'variants = ["flash", "torch"]\n[figures]\nspeedup = {}\nmatrix = {}\nthroughput = {}\n'
    text = make_report([write_run(rows, source)], formats=("png",)).summary_markdown.read_text()
    captions = dict(re.findall(r"^\*(\w+)\*: (.*)$", text, re.MULTILINE))
    assert {name for name, caption in captions.items() if "FLOPs: " in caption} == {"throughput"}
    assert {name for name, caption in captions.items() if "peak" in caption} == {"throughput"}
    assert len(captions) == 3


def test_a_run_without_rows_is_refused(write_run: WriteRun) -> None:
    with pytest.raises(InputError, match="no case has finished yet"):
        make_report([write_run([])])


def test_names_from_elsewhere_begin_no_tag_and_no_formula(write_run: WriteRun) -> None:
    hostile = RESULTS[-1].model_copy(
        update={"case": "ee", "variant": "=cmd|x", "reason": "<script>`a`</script>", "rerun": "harness `x`"}
    )
    paths = make_report([write_run([*RESULTS, hostile])], formats=["svg"])
    text = paths.summary_markdown.read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "rerun: `` harness `x` ``" in text
    rows = paths.results_csv.read_text().splitlines()
    assert not any(cell.startswith("=") for row in rows for cell in row.split(","))


def test_rows_of_the_same_code_by_other_names_or_parameters_are_told(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        make_result(variant, seq=seq, params={"tile_q": size}, time_s=1e-3, binary_digest=code)
        for variant, seq, size, code in (
            ("flash", 64, 64, "a"),
            ("flash", 64, 128, "a"),
            ("twin", 64, 64, "a"),
            ("flash", 512, 64, "b"),
            ("flash", 512, 128, "c"),
        )
    ]
    folder = write_run(rows, png_only("matrix"))
    report = make_report([folder], formats=("png",))
    remark = "2 rows run the code of another row of the same problem"
    page = report.html
    assert page is not None
    for text in (report.summary_markdown.read_text(), page.read_text(), capsys.readouterr().out):
        assert remark in text
    rows = [row.model_copy(update={"binary_digest": row.case}) for row in rows]
    report = make_report([write_run(rows, png_only("matrix"))], formats=("png",))
    assert "run the code of another" not in report.summary_markdown.read_text()


def unrun(variant: str, **fields: object) -> Result:
    known = {"status": Status.BUILT, "target": "cuda:sm_90a", "device": "no device", "registers": 128}
    return make_result(variant, **{**known, **fields})  # type: ignore[arg-type]


def test_without_a_device_what_is_there_is_drawn_instead_of_times(write_run: WriteRun) -> None:
    rows = [unrun("flash", instructions={"tensor": 9}), unrun("naive")]
    paths = make_report([write_run(rows, png_only("throughput", "speedup"))])
    assert set(paths.figures) == {"matrix", "resources", "instruction_mix"}
    assert paths.notes[:2] == (
        "figure throughput not drawn: no case was timed",
        "figure speedup not drawn: no case was timed",
    )
    assert set(paths.notes[2].removeprefix("no case was timed: drawn instead are ").split(", ")) == set(
        paths.figures
    )


def test_what_an_experiment_names_stays_alone_where_it_needs_no_times(write_run: WriteRun) -> None:
    paths = make_report([write_run([unrun("flash")], png_only("throughput", "matrix"))])
    assert set(paths.figures) == {"matrix"}


def test_resources_are_no_usual_figure_of_what_was_timed(write_run: WriteRun) -> None:
    assert "resources" not in make_report([write_run([*RESULTS, unrun("flash")])]).figures
