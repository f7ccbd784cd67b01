"""A reader's own table of published points, and published points without a run, on the command line."""

from pathlib import Path

import pytest
from synthetic_results import RESULTS, WriteRun, make_result

from harness.__main__ import main
from harness.reporting.explaining import read_origin
from harness.reporting.published.points import published_points, sources

HEADER = "implementation,dtype,batch,heads,seq,head_dim,tflops"
ROW = "mine,f32,1,16,256,64,0.5"


def table(folder: Path, *lines: str) -> Path:
    path = folder / "own.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_what_a_table_leaves_out_is_as_usual(tmp_path: Path) -> None:
    file = str(table(tmp_path, HEADER, ROW))
    (point,) = published_points(file=file, with_package=False).to_dict("records")
    assert point["kv_heads"] == point["heads"] == 16
    assert point["head_dim_v"] == 64
    assert not point["causal"]
    assert not point["sinks"]
    assert (point["label"], point["source"]) == ("mine", "own.csv")


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        ((HEADER, ROW, ROW.replace("256", "long")), "line 3, column seq: "),
        ((HEADER, ROW.replace("f32", "f23")), "line 2, column dtype: "),
        ((HEADER, ROW.replace("0.5", "nan")), "line 2, column tflops: "),
        ((HEADER, f"{ROW},1"), "line 2: found 8 cells, expected 7"),
        ((HEADER.replace("seq", "sequence"), ROW), "line 1: unknown column 'sequence'"),
        ((HEADER,), "found no row"),
        ((HEADER, '"x"y,'), "line "),
    ],
)
def test_a_mistake_in_a_table_is_one_line_with_its_place(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], mistake: str
) -> None:
    file = table(tmp_path, *lines)
    assert main(["report", str(write_run(RESULTS)), "--published-file", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"harness: {file}: {mistake}")


def test_a_table_that_is_no_text_or_not_there_is_refused(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, binary = str(write_run(RESULTS)), tmp_path / "own.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    for file in (binary, tmp_path / "missing.csv"):
        assert main(["report", run, "--published-file", str(file)]) == 2
        assert capsys.readouterr().err.startswith(f"harness: {file}: ")


def test_own_points_are_overlaid_without_those_of_the_package(write_run: WriteRun, tmp_path: Path) -> None:
    run = write_run([make_result("flash", 256, time_s=0.002)])
    assert "from own.csv (mine)." in sources(
        published_points(file=str(table(tmp_path, HEADER, ROW)), with_package=False)
    )
    file, out = table(tmp_path, HEADER, ROW), tmp_path / "out"
    assert (
        main(["report", str(run), "--published-file", str(file), "--figure", "throughput", "--out", str(out)])
        == 0
    )
    assert read_origin(out / "throughput.svg").settings == {"published_file": str(file)}
    text = (out / "throughput.svg").read_text()
    assert "<!-- mine -->" in text
    assert "H100" not in text


def test_figures_of_published_points_need_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--published-only", "fa_forward", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"figure: {tmp_path / 'throughput.svg'}\n"
    lines = (tmp_path / "throughput.dat").read_text().splitlines()
    h100 = [line for line in lines if line.startswith("{NVIDIA H100 SXM5, FlashAttention-3")]
    assert len(h100) == 3 * 2 * 6
    assert read_origin(tmp_path / "throughput.svg").published_only == "fa_forward"


def test_what_is_asked_for_and_has_no_point_is_told(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = ["--set", "published_devices=A100,H100", "--figure", "throughput", "--out", str(tmp_path)]
    assert main(["report", "--published-only", "fa_forward", *devices]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "A100" in line
    assert "H100" not in line
    assert main(["report", str(write_run(RESULTS)), "--published", *devices]) == 0
    assert "No published point is overlaid: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--published-only", "fa_forwrd"], "fa_forwrd: no such experiment"),
        (["--published-only", "seq_sweep"], "seq_sweep: found no published point of a problem"),
        (["results", "--published-only", "fa_forward"], "--published-only: found a DIR"),
        ([], "no results folder given"),
    ],
)
def test_published_points_without_a_run_are_those_of_an_experiment(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
