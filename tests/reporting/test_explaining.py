"""From a figure's file back to rows, run and commands."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from synthetic_results import RESULTS, WriteRun, make_result
from test_redrawing import EDITED

from harness.__main__ import main
from harness.reporting.explaining import explain
from harness.reporting.figures.base import FORMATS
from harness.reporting.report import redraw

SETTINGS = ["style=bars", 'names.flash=our (own) \\ "x"', "where=seq <= 512", "size=[7, 4]"]


def drawn(folder: Path, assignments: Sequence[str] = (), format: str = "svg") -> Path:
    (file,) = redraw([folder], ["throughput"], assignments, formats=(format,)).files["throughput"]
    return file


def explained(file: Path, *roots: Path) -> dict[str, str]:
    """Return what a line says by its first word; rows by their case."""
    lines = [line.split(None, 1) for line in explain(file, roots) if line.strip()]
    return {words[0]: words[1] if len(words) > 1 else "" for words in lines}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_leads_back_to_run_rows_and_command(write_run: WriteRun, format: str) -> None:
    folder = write_run(RESULTS)
    said = explained(drawn(folder, SETTINGS, format))
    assert said["run"].startswith(f"{folder} (manifest as it was; manifest ")
    assert said["command"] == "harness run seq_sweep.toml"
    assert said["code"].startswith("harness 0.1.0, commit 0123456789abcdef, sources ")
    assert said["device"] == "Example CPU"
    assert said["rows"] == "3"
    assert said[RESULTS[1].case.split()[0]].split()[-4:] == ["flash", "cpu", "passed", "2.00"]


def test_the_last_line_draws_the_same_bytes_again(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, "[figures]\nthroughput = { title = 'true', panels = [] }\n")
    file = drawn(folder, SETTINGS)
    before = file.read_bytes()
    words = shlex.split(explained(file)["redraw"])
    file.unlink()
    assert words[0] == "harness"
    assert main([*words[1:], "--format", "svg"]) == 0
    assert file.read_bytes() == before


def test_the_last_line_takes_back_what_an_edited_experiment_had_taken_back(
    write_run: WriteRun, tmp_path: Path
) -> None:
    own = "title = 'Kept', style = 'bars', names = { flash = 'ours' }"
    folder = write_run(RESULTS, f"[figures]\nthroughput = {{ {own} }}\n")
    edited = tmp_path / "edited.toml"
    edited.write_text(EDITED + "throughput = { title = 'Edited' }\n")
    assert main(["report", str(folder), "--experiment", str(edited), "--format", "svg"]) == 0
    file = folder / "report" / "throughput.svg"
    before = file.read_bytes()
    words = shlex.split(explained(file)["redraw"])
    assert words[-6:] == ["--set", "title=Edited", "--set", "style=", "--set", "names="]
    file.unlink()
    assert main([*words[1:], "--format", "svg"]) == 0
    assert file.read_bytes() == before


def test_a_figure_that_was_copied_away_finds_its_run_by_its_manifest(
    write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(RESULTS)
    alone = Path(shutil.copy(drawn(folder), tmp_path / "alone.svg"))
    renamed = folder.rename(folder.parent / "renamed")
    assert explained(alone, tmp_path / "results")["run"].startswith(f"{renamed} (manifest as it was")


def test_without_its_run_a_figure_says_what_it_holds(write_run: WriteRun, tmp_path: Path) -> None:
    folder = write_run(RESULTS)
    alone = Path(shutil.copy(drawn(folder), tmp_path / "alone.svg"))
    shutil.rmtree(folder)
    said = explained(alone, tmp_path / "results")
    assert said["run"].startswith(f"seq_sweep/{folder.name}: not found beside the figure nor below ")
    assert said["command"] == "harness run seq_sweep.toml"
    assert said["rows"] == "3"
    assert said["redraw"] == f"harness report seq_sweep/{folder.name} --out {tmp_path} --figure throughput"


def test_a_run_that_has_changed_says_so(write_run: WriteRun) -> None:
    folder = write_run(RESULTS)
    file = drawn(folder)
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text() + "\n")
    lines = list(explain(file, []))
    assert any("gone on with, or changed, since" in line for line in lines)


def test_merged_runs_are_all_named_with_their_labels(write_run: WriteRun, tmp_path: Path) -> None:
    runs = [write_run([make_result("flash", seq, time_s=0.001)]) for seq in (256, 512)]
    files = redraw(runs, ["throughput"], out=tmp_path / "both", formats=("svg",), labels=["old", "new"]).files
    lines = list(explain(files["throughput"][0], [tmp_path / "results"]))
    assert [line.split()[1] for line in lines if line.startswith("run ")] == [str(run) for run in runs]
    assert lines[-1].endswith(f"--label=old --label=new --out {tmp_path / 'both'} --figure throughput")


BAD_FILES = {
    "none.svg": (b"<svg></svg>", "says nothing of its origin, expected a figure of a report"),
    "figure.txt": (b"", "says nothing of its origin, expected a figure of a report"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_figure_of_a_report_is_one_line(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    assert main(["explain", str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"harness: {tmp_path / name}: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
