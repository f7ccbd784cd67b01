"""Reports without a warning of pandas or matplotlib, which would stand on the terminal."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from rows_of_all_figures import drawable
from synthetic_results import WriteRun, make_result

from harness import plugins
from harness.__main__ import main
from harness.results.result import Result

OWN_POINTS = "implementation,dtype,batch,heads,seq,head_dim,tflops\nmine,f32,1,16,256,64,0.5\n"


def paper_rows() -> list[Result]:
    """Rows of a published problem, and of one that is near to some."""
    shape = {"dtype": "f16", "batch": 16, "heads": 8, "kv_heads": 8}
    return [
        make_result(name, seq, time_s=1e-3, **shape, **fields)
        for name in ("flash", "torch")
        for seq, fields in ((2048, {}), (4096, {}))
    ]


def many_rows() -> list[Result]:
    rows = [
        drawable(name, seq, factor)
        for name, factor in (("unfused", 1.0), ("flash", 2.0))
        for seq in (256, 512)
    ]
    return [*rows, make_result("naive", 256, status="unsupported", reason="no")]


def near_rows() -> list[Result]:
    return [row.model_copy(update={"batch": 15}) for row in paper_rows()]


@pytest.mark.parametrize("rows", [many_rows, paper_rows, near_rows])
def test_every_way_to_a_report_is_free_of_warnings(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: Callable[[], list[Result]]
) -> None:
    run, own, out = str(write_run(rows())), tmp_path / "own.csv", str(tmp_path / "out")
    own.write_text(OWN_POINTS)
    names = plugins.names("figure") if rows is many_rows else ["throughput"]
    figures = [word for name in names for word in ("--figure", name)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert (
            main(["report", run, "--published", "--published-file", str(own), "--rows", "--format", "png"])
            == 0
        )
        assert main(["report", run, *figures, "--published", "--out", out]) in (0, 1)
        assert main(["report", run, "--figure", "throughput", "--published", "--set", "style=bars"]) == 0
        assert main(["report", run, "--table", "variant by seq", "--values", "gflops,speedup"]) == 0
    assert [str(entry.message) for entry in told] == []
    assert "Warning" not in capsys.readouterr().err
