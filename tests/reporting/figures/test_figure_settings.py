import itertools
import re
import subprocess
import sys
from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, NothingToDraw, Unreadable, check_formats
from harness.reporting.figures.matrix import Matrix
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import PROBLEM_COLUMNS, prepare
from harness.results.frame import results_frame
from harness.system.errors import InputError


def error_of(figure: Figure, values: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse_settings(figure, values)
    return str(caught.value)


def test_an_unknown_panel_is_refused() -> None:
    assert error_of(Throughput(), {"panels": ["head"]}).startswith("figures.throughput.panels")


@pytest.mark.parametrize("figure", [Throughput(), Speedup(), Matrix()])
def test_without_a_row_to_show_there_is_nothing_to_draw(figure: Figure, sweep: pd.DataFrame) -> None:
    settings = parse_settings(figure, {"variants": ["flsh"]})
    with pytest.raises(NothingToDraw, match="no row has what variants and where ask for"):
        figure.draw(sweep, settings, "")


@pytest.mark.parametrize(("formats", "found"), [((), "none"), (("png", "gif"), "'gif'")])
def test_unknown_formats_are_refused(formats: tuple[str, ...], found: str) -> None:
    with pytest.raises(InputError, match=f"figure format: found {found}, expected one of png, svg, pdf"):
        check_formats(formats)


def test_importing_figures_and_reporting_is_cheap() -> None:
    program = (
        "import sys, harness.reporting, harness.reporting.figures.throughput;"
        "import harness.reporting.figures.speedup, harness.reporting.figures.matrix;"
        "print(sorted({'pandas', 'matplotlib', 'seaborn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("figure", [Throughput(), Speedup(), Matrix()])
def test_size_names_and_caption_can_be_chosen(figure: Figure, sweep: pd.DataFrame) -> None:
    settings = parse_settings(figure, {"size": [5, 6], "names": {"naive": "Ours"}, "caption": False})
    drawing = figure.draw(sweep, settings, "the caption")
    drawing.draw_without_rendering()
    assert list(drawing.get_size_inches()) == [5, 6]
    assert not [text for text in drawing.texts if "the caption" in text.get_text()]
    legend = [text.get_text() for entry in drawing.legends for text in entry.get_texts()]
    labels = [*legend, *(tick.get_text() for tick in drawing.axes[0].get_yticklabels())]
    assert "Ours tile_kv=64" in labels
    assert "naive tile_kv=64" not in labels


FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": "256:0", "mask": "window(256,0)"},
    "open window": {"window": "none:0", "mask": "window(∞,0)"},
    "softcap": {"softcap": 20.0},
    "boolean": {"boolean_mask": True, "mask": "boolean"},
    "bias": {"bias": True, "bias_axes": "bhqk"},
    "sinks": {"sinks": True, "log_sum_exp": True},
    "lengths": {"kv_lengths": "3"},
    "packed": {"cu_seqlens_q": "0,10,40", "cu_seqlens_kv": "0,10,40"},
    "projected": {"model_width": 512, "output_projection": True},
}


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("window == [256, 0]", ["window"]),
        ("window == [-1, 0]", ["open window"]),
        ("softcap == 20", ["softcap"]),
        ("softcap == none and model_width == none and window == none and boolean_mask", ["boolean"]),
        ("bias or sinks", ["bias", "sinks"]),
        ("bias_axes != 'hqk'", ["bias"]),
        ("log_sum_exp", ["sinks"]),
        ("kv_lengths == [3]", ["lengths"]),
        ("cu_seqlens_q == [0, 10, 40]", ["packed"]),
        ("output_projection and model_width >= 512 and scale < 1", ["projected"]),
        ("true", list(FORMS)),
    ],
)
def test_rows_can_be_chosen_by_whatever_tells_problems_apart(where: str, chosen: list[str]) -> None:
    rows = [make_result(time_s=1.0, case=case, **fields) for case, fields in FORMS.items()]
    frame = prepare(results_frame(rows))
    shown = Throughput().rows(frame, parse_settings(Throughput(), {"where": where}))
    assert sorted(shown["case"]) == sorted(chosen)


def test_every_column_of_problems_can_be_asked_for() -> None:
    for name in PROBLEM_COLUMNS:
        parse_settings(Throughput(), {"where": f"{name} == none"})
    message = error_of(Throughput(), {"where": "softcaps == none"})
    assert "unknown name 'softcaps' in 'softcaps == none' (did you mean softcap?)" in message
    assert "\n" not in message


def test_a_variant_that_the_experiment_does_not_have_is_refused_when_it_is_read() -> None:
    for values in ({"variants": ["flsh"]}, {"names": {"flsh": "Ours"}}, {"baseline": "flsh"}):
        with pytest.raises(InputError, match=r"figures\.speedup\.\w+: unknown variant 'flsh' \(did you mean"):
            parse_settings(Speedup(), values, ["flash", "torch"])
    parse_settings(Speedup(), {"variants": ["flash tile_kv=64"], "baseline": "torch"}, ["flash", "torch"])


def rows_of(**values: list[object]) -> pd.DataFrame:
    """Timed rows, one for each combination of values."""
    combinations = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    return prepare(results_frame(make_result(time_s=1.0, **point) for point in combinations))  # type: ignore[arg-type]


@pytest.mark.parametrize("figure", [Throughput(), Speedup()])
def test_what_nobody_could_read_is_refused_with_what_to_narrow(figure: Figure) -> None:
    crowds = {
        "33 series, ": rows_of(params=[{"tile_kv": tile} for tile in range(33)]),
        ", 49 values of seq, ": rows_of(seq=list(range(16, 65))),
        "and 25 panels (head_dim), of which": rows_of(head_dim=list(range(1, 26))),
    }
    for reason, frame in crowds.items():
        paired = frame.assign(speedup=2.0, baseline="unfused", baseline_label="unfused")
        with pytest.raises(Unreadable, match=re.escape(reason)):
            figure.draw(paired, parse_settings(figure, {}), "")
