import io
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_results import WriteRun, make_result

import harness.reporting
from harness.errors import InputError
from harness.reporting import print_failures, print_tables, write_report
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.status import Status

RESULTS = [
    make_result("unfused", 256, time_s=0.004, speedup=1.0, baseline="unfused"),
    make_result("flash", 256, time_s=0.002, speedup=2.0, baseline="unfused"),
    make_result(
        "flash",
        512,
        status=Status.CRASHED,
        phase="run",
        reason="signal 11",
        rerun="harness run --only case=9f",
    ),
]


def png_only(*figures: str) -> str:
    return "[figures]\n" + "".join(f"{name} = {{}}\n" for name in figures)


def test_a_report_has_summary_tables_and_figures_in_three_formats(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("throughput"))
    paths = write_report([folder])
    assert paths.folder == folder / "report"
    assert {file.name for file in paths.folder.iterdir()} == {
        "summary.md",
        "summary.csv",
        "results.csv",
        "throughput.png",
        "throughput.svg",
        "throughput.pdf",
    }
    assert paths.figures == {
        "throughput": tuple(paths.folder / f"throughput.{name}" for name in ("png", "svg", "pdf"))
    }
    assert (paths.folder / "throughput.png").read_bytes().startswith(b"\x89PNG")
    assert (paths.folder / "throughput.svg").read_text().startswith("<?xml")
    assert (paths.folder / "throughput.pdf").read_bytes().startswith(b"%PDF")


def test_the_text_holds_question_table_failures_and_figures(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    text = write_report([folder], formats=("png",)).summary_markdown.read_text()
    assert text.startswith("# seq_sweep\n\n**seq_sweep**: How fast?\n\n")
    assert f"`{folder.name}`: Example CPU, harness 0.1.0, commit 0123456, 2026-01-02" in text
    assert "| 256 | flash | passed | 2.00 |" in text
    assert "- **crashed** flash · cpu · b1 h16 s512 d64 f32 full threads=1 in run: signal 11" in text
    assert "rerun: `harness run --only case=9f`" in text
    assert "![matrix](matrix.png)\n\n*matrix*: Example CPU;" in text


def test_without_a_choice_all_figures_that_apply_are_drawn(write_run: WriteRun) -> None:
    folder = write_run([make_result()])
    paths = write_report([folder], formats=("svg",))
    assert "matrix" in paths.figures
    assert paths.skipped["throughput"] == "no case was timed"
    assert "*throughput* not drawn: no case was timed." in paths.summary_markdown.read_text()


def test_equal_results_give_equal_files(write_run: WriteRun, tmp_path: Path) -> None:
    folder = write_run(RESULTS, png_only("throughput", "speedup", "matrix"))
    first = write_report([folder], tmp_path / "first", formats=("svg",))
    second = write_report([folder], tmp_path / "second", formats=("svg",))
    names = sorted(file.name for file in first.folder.iterdir())
    assert len(names) == 6
    for name in names:
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes(), name


def test_several_runs_are_merged_into_the_folder_that_is_given(write_run: WriteRun, tmp_path: Path) -> None:
    first = write_run([make_result("flash", 256)], png_only("matrix"))
    second = write_run([make_result("flash", 512)], png_only("matrix"))
    paths = write_report([first, second], tmp_path / "merged", formats=("png",))
    assert paths.folder == tmp_path / "merged"
    lines = paths.results_csv.read_text().splitlines()
    run = lines[0].split(",").index("run")
    assert [line.split(",")[run] for line in lines[1:]] == [first.name, second.name]


def test_a_merged_report_never_replaces_a_runs_own(write_run: WriteRun) -> None:
    runs = [write_run([make_result("flash", seq)], png_only("matrix")) for seq in (256, 512)]
    with pytest.raises(InputError, match="--out is missing: 2 runs are merged; expected a folder for their"):
        write_report(runs)
    assert not any((run / "report").exists() for run in runs)


def test_a_run_given_twice_counts_once(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    paths = write_report([folder, folder], formats=("png",))
    assert len(paths.results_csv.read_text().splitlines()) == 1 + len(RESULTS)


def test_an_experiments_folder_means_its_newest_run(write_run: WriteRun) -> None:
    write_run([make_result("torch")], png_only("matrix"))
    newest = write_run([make_result("flash")], png_only("matrix"))
    assert write_report([newest.parent], formats=("png",)).folder == newest / "report"


def test_a_newest_run_that_is_only_a_part_says_so(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, png_only("matrix"))
    RunFolder.open(folder).plan(["a"], ["a", "b", "c"])
    note = f"{folder} is the newest run, made with --only: it leaves out 2 cases of the experiment; name"

    def shown(given: Path) -> str:
        console = Console(file=io.StringIO(), width=150)
        print_tables([given], console)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    assert note in shown(folder.parent)
    assert note not in shown(folder)


def test_variants_come_in_the_experiments_order(write_run: WriteRun) -> None:
    folder = write_run(
        [make_result("flash"), make_result("torch")],
        'variants = ["torch", "flash"]\n' + png_only("matrix"),
    )
    text = write_report([folder], formats=("png",)).summary_markdown.read_text()
    assert text.index("| torch |") < text.index("| flash |")


def test_bad_figure_settings_are_found_before_anything_is_written(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, '[figures]\nmatrix = {}\nthroughput = { x = "sequ" }\n')
    with pytest.raises(InputError, match=r'figures\.throughput\.x: found "sequ", expected'):
        write_report([folder])
    assert not (folder / "report").exists()


@pytest.mark.parametrize("make", [True, False])
def test_a_folder_without_results_is_refused_in_one_line(tmp_path: Path, make: bool) -> None:
    folder = tmp_path / "nothing"
    if make:
        folder.mkdir()
    problem = "holds no results" if make else "no such folder"
    with pytest.raises(InputError, match=f"nothing: {problem}; expected a run's folder with manifest.json"):
        write_report([folder])


def test_no_folder_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="no results folder given"):
        write_report([])


def test_a_run_without_rows_is_refused(write_run: WriteRun) -> None:
    with pytest.raises(InputError, match="no case has finished yet"):
        write_report([write_run([])])


def test_an_output_folder_that_cannot_be_written_is_refused(write_run: WriteRun, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="report: cannot write the report: Not a directory"):
        write_report([write_run(RESULTS)], tmp_path / "file" / "report")


def printed(print_something: object, results: list[Result], write_run: WriteRun) -> str:
    stream = io.StringIO()
    print_something([write_run(results)], Console(file=stream, width=150))  # type: ignore[operator]
    return stream.getvalue()


def test_the_terminal_shows_the_table_then_the_failures(write_run: WriteRun) -> None:
    text = printed(print_tables, RESULTS, write_run)
    assert (
        text.index("seq_sweep · cpu")
        < text.index("unfused")
        < text.index("rerun: harness run --only case=9f")
    )


def test_failures_can_be_printed_alone(write_run: WriteRun) -> None:
    text = printed(print_failures, RESULTS, write_run)
    assert text.splitlines() == [
        "crashed  flash · cpu · b1 h16 s512 d64 f32 full threads=1 in run",
        "    signal 11",
        "    rerun: harness run --only case=9f",
    ]


def test_a_run_without_rows_prints_so(write_run: WriteRun) -> None:
    assert printed(print_tables, [], write_run) == "no case has finished yet\n"


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="write_reports"):
        harness.reporting.write_reports  # type: ignore[attr-defined] # noqa: B018


def test_links_in_a_results_folder_are_not_followed(write_run: WriteRun, tmp_path: Path) -> None:
    run = write_run(RESULTS)
    theirs = tmp_path / "theirs"
    theirs.write_text("keep")
    (run / "report").mkdir()
    for name in ("summary.md", "summary.csv", "results.csv", "speedup.svg", "throughput.svg"):
        (run / "report" / name).symlink_to(theirs)
    write_report([run], formats=["svg"])
    assert theirs.read_text() == "keep"
    assert not (run / "report" / "summary.md").is_symlink()


def test_a_report_folder_that_is_a_link_is_refused(write_run: WriteRun, tmp_path: Path) -> None:
    run = write_run(RESULTS)
    (tmp_path / "theirs").mkdir()
    (run / "report").symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="is a link; expected a folder"):
        write_report([run])
    assert list((tmp_path / "theirs").iterdir()) == []


def test_names_from_elsewhere_begin_no_tag_and_no_formula(write_run: WriteRun) -> None:
    hostile = RESULTS[-1].model_copy(
        update={"case": "ee", "variant": "=cmd|x", "reason": "<script>`a`</script>", "rerun": "harness `x`"}
    )
    paths = write_report([write_run([*RESULTS, hostile])], formats=["svg"])
    text = paths.summary_markdown.read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "rerun: `` harness `x` ``" in text
    rows = paths.results_csv.read_text().splitlines()
    assert not any(cell.startswith("=") for row in rows for cell in row.split(","))
