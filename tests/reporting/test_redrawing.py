"""Figures drawn again with other settings, of the command line or of an edited experiment."""

import re
from pathlib import Path

import pytest
from synthetic_results import RESULTS, WriteRun

from harness.experiment.experiment import parse_experiment
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
        ("variants=flsh", "figures.throughput.variants: unknown variant 'flsh' (did you mean flash?)"),
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


def test_settings_on_the_command_line_are_toml_or_plain_words() -> None:
    assignments = ["size=[7, 3]", "caption=false", "panels=mask,dtype", "title=One core", "variants=flash"]
    assert with_assignments({}, [*assignments, "names.flash=ours"], Throughput()) == {
        "size": [7, 3],
        "caption": False,
        "panels": ["mask", "dtype"],
        "title": "One core",
        "variants": ["flash"],
        "names": {"flash": "ours"},
    }


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ('throughput = { variants = ["flsh"] }', "figures.throughput.variants: unknown variant 'flsh'"),
        ("speedup = { where = 'sq < 5' }", "figures.speedup.where: unknown name 'sq'"),
    ],
)
def test_mistakes_in_figures_are_found_when_the_experiment_is_read(figure: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"edited.toml: {message}")):
        parse_experiment(EDITED.replace("matrix = {}", figure), Path("edited.toml"))


def test_an_edited_experiment_redraws_a_run(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, "[figures]\nthroughput = {}\n")
    edited = parse_experiment(EDITED, Path("edited.toml"))
    paths = make_report([folder], formats=("png",), experiment=edited)
    assert list(paths.figures) == ["matrix"]
