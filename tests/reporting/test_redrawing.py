"""Figures drawn again with other settings, of the command line or of an edited experiment."""

from pathlib import Path

import pytest
from synthetic_results import RESULTS, WriteRun

from harness.experiment.experiment import parse_experiment
from harness.experiment.figure_settings import parse_settings
from harness.reporting.drawing import with_assignments
from harness.reporting.figures.throughput import Throughput
from harness.reporting.report import make_report, redraw
from harness.system.errors import InputError

EDITED = """
name = "seq_sweep"
question = "How fast?"
variants = ["flash"]
[problem]
seq = 256
heads = 16
head_dim = 64
[figures]
matrix = {}
"""


def test_a_figure_is_drawn_again_with_other_settings_and_nothing_else(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, "[figures]\nthroughput = { title = 'Kept' }\n")
    first = make_report([folder], formats=("svg",))
    text, lines = first.summary_markdown.read_text(), first.figures["throughput"][0].read_text()
    drawn = redraw([folder], ["throughput"], ["style=bars", "names.flash=Ours"], formats=("svg",))
    bars = drawn.files["throughput"][0].read_text()
    assert drawn.files == first.figures
    assert bars != lines
    assert "Ours" in bars
    assert "Kept" in bars
    assert first.summary_markdown.read_text() == text


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("style=pie", "figures.throughput.style: Input should be 'lines' or 'bars', found \"pie\""),
        ("names.flsh=Ours", "figures.throughput.names: unknown variant 'flsh' (did you mean flash?)"),
        ("stile=", "--set stile=: unknown setting 'stile' (did you mean style?)"),
        ("style", "--set 'style': expected KEY=VALUE, such as style=bars"),
        ("where=seq <", "figures.throughput.where: cannot read 'seq <'"),
    ],
)
def test_settings_that_somebody_asks_for_now_are_refused_in_one_line(
    write_run: WriteRun, assignment: str, message: str
) -> None:
    with pytest.raises(InputError) as raised:
        redraw([write_run(RESULTS)], ["throughput"], [assignment])
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_setting_without_a_value_has_its_default() -> None:
    kept = {"style": "bars", "title": "Kept", "names": {"flash": "ours"}}
    changes = ["style=", "names =", "size=[7, 3]", "size=", "width=", "width=column"]
    assert with_assignments(kept, changes, Throughput()) == {"title": "Kept", "width": "column"}


def test_an_entry_of_a_table_leaves_the_others() -> None:
    kept = {"names": {"flash": "ours", "naive": "simple"}}
    assert with_assignments(kept, ["names.flash=Ours"], Throughput()) == {
        "names": {"flash": "Ours", "naive": "simple"}
    }
    assert with_assignments(kept, ["names.flash="], Throughput()) == {"names": {"naive": "simple"}}
    assert with_assignments(kept, ["names=", "names.torch=PyTorch"], Throughput()) == {
        "names": {"torch": "PyTorch"}
    }
    series = with_assignments(
        {}, ['names."naive tile_kv=64"=small = fast', "palette.flash=#0173b2"], Throughput()
    )
    assert series == {"names": {"naive tile_kv=64": "small = fast"}, "palette": {"flash": "#0173b2"}}
    assert kept == {"names": {"flash": "ours", "naive": "simple"}}


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("palette=Set2", "Set2"),
        ("palette=red,#0173b2", ["red", "#0173b2"]),
        ('palette={ flash = "red" }', {"flash": "red"}),
        ("markers=o", ["o"]),
        ("y_limits=0.8,auto", ["0.8", "auto"]),
        ('y_limits=[0.8, "auto"]', [0.8, "auto"]),
        ("sharey=false", False),
        ("order=torch,flash", ["torch", "flash"]),
        ("size=[7, 3]", [7, 3]),
        ("caption=false", False),
        ("title=One core", "One core"),
        ("variants=flash", ["flash"]),
    ],
)
def test_settings_of_series_on_the_command_line(assignment: str, value: object) -> None:
    settings = with_assignments({}, [assignment], Throughput())
    assert list(settings.values()) == [value]
    parse_settings(Throughput(), settings)


def test_an_edited_experiment_redraws_a_run(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, "[figures]\nthroughput = {}\n")
    edited = parse_experiment(EDITED, Path("edited.toml"))
    paths = make_report([folder], formats=("png",), experiment=edited)
    assert list(paths.figures) == ["matrix"]


NAMES = """
[figures.throughput.names]
flash = "Ours"
[figures.speedup.names]
unfused = "three kernels"
flash = "else"
"""


def test_names_of_figures_reach_tables_and_numbers(write_run: WriteRun) -> None:
    paths = make_report([write_run(RESULTS, NAMES)])
    tex, text = ((paths.folder / f"summary.{ending}").read_text() for ending in ("tex", "md"))
    assert "speed-up vs three kernels" in text
    for table in (tex, text):
        assert "Ours" in table
        assert "three kernels" in table
        assert "flash" not in table.partition("## Figures")[0].partition("crashed")[0]
    numbers = (paths.folder / "throughput.dat").read_text().splitlines()[2:]
    assert [line.split("}")[0] for line in numbers] == ["{unfused", "{Ours", "{Ours"]
    speedups = (paths.folder / "speedup.dat").read_text()
    assert "{else} " in speedups
    assert "{three kernels}" in speedups
    assert "flash," in paths.results_csv.read_text()
