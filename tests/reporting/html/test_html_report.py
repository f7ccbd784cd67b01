"""What a report's page holds, and what it leaves out, without a browser."""

import base64
import gzip
import importlib.metadata
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from html_pages import HOSTILE, Written
from large_runs import write_large_run
from synthetic_results import RESULTS, WriteRun, make_result

from harness.reporting.frames import prepare
from harness.reporting.html.results_table import raw_number
from harness.reporting.html.status_matrix import status_matrix
from harness.reporting.report import make_report
from harness.results.frame import results_frame
from harness.system.status import Status


class Reader(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def values(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


@pytest.mark.parametrize("kind", ["sweep", "hostile"])
def test_every_address_is_in_the_page_itself(sweep_page: Written, hostile_page: Path, kind: str) -> None:
    reader = Reader((sweep_page.html if kind == "sweep" else hostile_page).read_text())
    addresses = [*reader.values("src"), *reader.values("href")]
    assert len(addresses) >= 8
    assert [address for address in addresses if not address.startswith(("#", "data:"))] == []
    handlers = [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    assert handlers == []


def test_hostile_texts_are_nowhere_in_the_page_as_they_are(hostile_page: Path) -> None:
    text = hostile_page.read_text()
    assert HOSTILE not in text
    assert "globalThis.owned" in text
    assert "<script>globalThis.owned" not in text


def test_a_report_without_the_library_is_complete_but_for_the_page(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("harness.reporting.html.page.distribution", missing)
    paths = make_report([write_run(RESULTS)], formats=("svg",))
    (note,) = paths.notes
    assert note.startswith("report.html not written: itables is not installed; expected: ")
    assert paths.html is None
    assert paths.summary_markdown.exists()


@pytest.mark.parametrize(
    ("value", "expected"), [(1.23456789, 1.23457), (float("nan"), None), (None, None), (3, 3.0)]
)
def test_numbers_are_rounded_and_missing_ones_are_null(value: Any, expected: float | None) -> None:
    assert raw_number(value) == expected
    assert json.dumps(raw_number(float("inf")), allow_nan=False)


@pytest.mark.sweep
def test_the_page_of_a_long_sweep_stays_small(tmp_path: Path) -> None:
    html = make_report([write_large_run(tmp_path, 20_000)], formats=("svg",)).html
    assert html is not None
    assert html.stat().st_size < 8_000_000
    assert "The first 5000 rows, failures before others; 15000 more are in" in html.read_text()


def test_the_matrix_counts_cases_by_form_and_tells_reasons() -> None:
    grouped = {"heads": 4, "kv_heads": 2}
    rows = [
        *RESULTS,
        make_result(
            "flash", mask="window(64,0)", case="a", **grouped, status=Status.UNSUPPORTED, reason="no"
        ),
        make_result("flash", mask="window(8,0)", case="b", **grouped, sinks=True),
    ]
    matrix = status_matrix(prepare(results_frame(rows)))
    assert matrix.columns == (("cpu", "unfused"), ("cpu", "flash"))
    window = "f32 · window · grouped heads"
    assert matrix.forms == ("f32 · full", window, f"{window} · sinks")
    plain = matrix.cells["f32 · full", ("cpu", "flash")]
    assert (plain.text, plain.worst, plain.told) == ("1 crashed / 2", "crashed", ["1 crashed: signal 11"])
    refused = matrix.cells[window, ("cpu", "flash")]
    assert (refused.text, refused.told) == ("1 unsupported", ["1 unsupported: no"])
    assert (window, ("cpu", "unfused")) not in matrix.cells


def test_the_stages_of_a_page_can_be_unpacked(sweep_page: Written) -> None:
    text = sweep_page.html.read_text()
    data = re.search(r'id="stages-data">(.*?)</script>', text)
    assert data is not None
    first, second = json.loads(data[1])
    assert json.loads(gzip.decompress(base64.b64decode(first["packed"]))) == sweep_page.stages
    assert list(second["left_out"]) == ["long", "object"]
