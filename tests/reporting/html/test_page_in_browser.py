"""The report's page as readers meet it: in a browser, on a screen and on a phone, in light and in dark."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chromium import Page
from html_pages import HOSTILE, Written
from synthetic_results import sweep_results

PHONE = (390, 844)
CONTRAST = """((selector) => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ground = (element) => {
    for (; element !== null; element = element.parentElement) {
      const found = parts(getComputedStyle(element).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)].map((element) => {
    const both = [parts(getComputedStyle(element).color), ground(element)].map(luminance);
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  });
})"""
LEAST_CONTRAST = 4.5
"""Of text that is to be read, by the Web Content Accessibility Guidelines, level AA."""


def compare_rows(page: Page) -> list[list[str]]:
    return page.value(
        """[...document.querySelectorAll("#compare-table tbody tr")]
          .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    )


def test_the_policy_refuses_what_is_not_in_the_file(page: Page, sweep_page: Written) -> None:
    page.show(sweep_page.html)
    page.value(
        """(() => {
          const image = document.createElement("img");
          image.src = "http://127.0.0.1:9/picture.png";
          document.body.append(image);
        })()"""
    )
    page.wait_for("document.images[document.images.length - 1].complete")
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_the_matrix_says_the_reasons_on_hover_and_on_a_touch(page: Page, sweep_page: Written) -> None:
    page.show(sweep_page.html, *PHONE)
    cells = "[...document.querySelectorAll('.matrix td.timed-out, .matrix td.wrong')]"
    titles = page.value(f"{cells}.map((cell) => cell.title)")
    assert any("no answer after 60 s" in title for title in titles)
    assert any("error 3.1e-2, tolerance 6.0e-4" in title for title in titles)
    page.value(f"{cells}[0].querySelector('summary').click()")
    assert page.value(f"{cells}[0].querySelector('li').checkVisibility()") is True
    assert page.value(f"{cells}[0].querySelector('summary').textContent") == "4 timed-out, 1 wrong / 20"


def rows_of(variant: str) -> dict[tuple[int, int, str], Any]:
    return {(row.head_dim, row.seq_q, row.mask): row for row in sweep_results() if row.variant == variant}


def interval_of(ratio: float, *intervals: Sequence[float]) -> list[float]:
    """Return the interval of a ratio of two values whose errors are independent."""
    reach = math.exp(math.hypot(*(math.log(high / low) / 2 for low, high in intervals)))
    return [ratio / reach, ratio * reach]


@pytest.mark.parametrize(("second", "how"), [("unfused", "in turns"), ("torch", "over the baseline")])
def test_two_series_are_compared_problem_by_problem(
    page: Page, sweep_page: Written, second: str, how: str
) -> None:
    page.show(sweep_page.html)
    page.choose("compare-first", "flash")
    page.choose("compare-second", second)
    problem, ratio, interval, verdict, compared = compare_rows(page)[0]
    ours, theirs = rows_of("flash")[64, 256, "full"], rows_of(second)[64, 256, "full"]
    expected = ours.speedup / theirs.speedup
    bounds = [ours.speedup_low, ours.speedup_high]
    if how != "in turns":
        bounds = interval_of(expected, bounds, [theirs.speedup_low, theirs.speedup_high])
    assert problem == "cpu · b1 h16 s256 d64 f32 full threads=1"
    assert float(ratio.rstrip("×")) == pytest.approx(expected, rel=0.01)
    assert json.loads(interval) == pytest.approx(bounds, rel=0.01)
    assert (verdict, compared) == ("first is faster", how)


def test_the_stages_of_a_case_stand_side_by_side(page: Page, sweep_page: Written) -> None:
    page.show(sweep_page.html)
    text = "document.getElementById('stages-{}-text').textContent"
    page.wait_for(f"{text.format('left')} !== ''")
    assert page.value(text.format("left")) == sweep_page.stages["payload"]
    page.choose("stages-right", "object")
    assert page.value(text.format("right")) == "The output of this stage is binary."
    tops = page.value("['left', 'right'].map((s) => document.getElementById(`stages-${s}-text`).offsetTop)")
    assert tops[0] == tops[1]


@pytest.mark.parametrize("width", [390])
def test_on_a_phone_only_tables_scroll_sideways(page: Page, sweep_page: Written, width: int) -> None:
    page.show(sweep_page.html, width, 844)
    page.value("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value("innerWidth") == width
    boxes = "[...document.querySelectorAll('.dt-layout-table > .dt-layout-cell')]"
    page.value(f"{boxes}[0].scrollLeft = 50")
    assert page.value(f"{boxes}[0].scrollLeft") == 50
    wide = page.value(f"{boxes}.map((box) => box.scrollWidth > box.clientWidth)")
    assert wide[0] is True


def test_a_page_of_hostile_names_is_harmless_and_shows_them(page: Page, hostile_page: Path) -> None:
    page.show(hostile_page, *PHONE)
    page.value("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert page.value("globalThis.owned ?? null") is None
    assert page.complaints == []
    assert page.requests == []
    assert page.value("document.querySelectorAll('img[src=x]').length") == 0
    assert page.value("document.title") == HOSTILE
    for part in ("summary", "matrix", "results", "compare", "manifest"):
        assert page.value(f"document.getElementById('{part}').innerText").count(HOSTILE) >= 1, part
    assert page.value("document.documentElement.scrollWidth") <= PHONE[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_in_light_and_in_dark(page: Page, sweep_page: Written, scheme: str) -> None:
    page.show(sweep_page.html, dark=scheme == "dark")
    page.value("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    for selector in ("p", "td", "th", ".badge", "dd", "dt", "figcaption", "pre", "a", "select"):
        contrasts = page.value(f"{CONTRAST}('{selector}')")
        assert contrasts, selector
        assert min(contrasts) >= LEAST_CONTRAST, selector
