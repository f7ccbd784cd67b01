import subprocess
import sys
from typing import Any

import pandas as pd
import pytest

from harness.errors import InputError
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, check_formats
from harness.reporting.figures.matrix import Matrix
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput


def error_of(figure: Figure, values: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse_settings(figure, values)
    return str(caught.value)


def test_an_unknown_value_names_key_value_and_choices() -> None:
    message = error_of(Throughput(), {"x": "sequ"})
    assert message.startswith("figures.throughput.x: found \"sequ\", expected 'seq', 'seq_q', 'seq_kv'")


def test_an_unknown_key_names_the_close_one() -> None:
    message = error_of(Speedup(), {"base": "torch"})
    assert message.startswith("figures.speedup.base: unknown key")
    assert "baseline" in message


def test_an_unknown_panel_is_refused() -> None:
    assert error_of(Throughput(), {"panels": ["head"]}).startswith('figures.throughput.panels: found "head"')


@pytest.mark.parametrize("figure", [Throughput(), Speedup(), Matrix()])
def test_a_variant_that_no_row_is_of_is_refused(figure: Figure, sweep: pd.DataFrame) -> None:
    settings = parse_settings(figure, {"variants": ["flsh"]})
    with pytest.raises(InputError, match=rf"figures\.{figure.name}\.variants: found 'flsh', expected one of"):
        figure.draw(sweep, settings, "")


def test_defaults_are_sequence_length_and_panels_by_head_dim_and_mask() -> None:
    settings = parse_settings(Throughput(), {})
    assert settings.model_dump() == {
        "title": None,
        "variants": None,
        "x": "seq",
        "y": "auto",
        "panels": ("head_dim", "mask"),
    }


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
