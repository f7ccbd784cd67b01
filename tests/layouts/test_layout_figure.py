"""Layouts as figures: every format, and equal bytes for equal layouts."""

from pathlib import Path

import pytest

from harness.layouts.figure import NO_DATES, save_figure
from harness.layouts.instructions.nvidia import ACCUMULATOR


@pytest.mark.parametrize("suffix", NO_DATES)
def test_equal_layouts_give_equal_files_without_a_date(tmp_path: Path, suffix: str) -> None:
    layout = {"C": ACCUMULATOR}
    files = [tmp_path / f"{name}{suffix}" for name in ("first", "second")]
    for file in files:
        save_figure(layout, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"CreationDate" not in files[0].read_bytes()
    assert b"<dc:date>" not in files[0].read_bytes()
