"""A browser, and reports to look at in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Page, find_chromium, running_browser
from html_pages import HOSTILE, Written
from stored_artifacts import LARGE, store_example
from synthetic_results import example_manifest, make_result, sweep_results

from harness.reporting.report import make_report
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.status import Status

REQUIRED = "HARNESS_REQUIRE_BROWSER"
"""Where this variable is set, as in continuous integration, a missing browser fails a test."""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        reason = "no chromium here; install it, such as by: apt-get install chromium"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_browser(program, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Page:
    return browser.open_page()


def with_baseline(result: Result) -> Result:
    """Return a row that says which case its speed-up is over."""
    case = f"unfused-{result.seq_q}-{result.head_dim}-{result.dtype}-{result.causal}-[]"
    return result.model_copy(update={"baseline_case": case})


@pytest.fixture(scope="session")
def sweep_page(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The page of a realistic sweep, of which two cases are in the cache."""
    folder = tmp_path_factory.mktemp("sweep")
    results = [with_baseline(result) for result in sweep_results()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(folder / "cache"))
        stages = store_example("1" * 64, {"payload": "module {\n  // <b>payload</b> & more\n}\n"})
        store_example("2" * 64, {"payload": "module @second {}\n", "long": LARGE})
        results[0] = results[0].model_copy(update={"key": "1" * 64})
        results[1] = results[1].model_copy(update={"key": "2" * 64})
        run = RunFolder.create(folder / "results", "seq_sweep", example_manifest("figures.matrix = {}", "s"))
        for result in results:
            run.append_result(result.model_copy(update={"run": run.run}))
        html = make_report([run.path], formats=("svg",)).html
    assert html is not None
    return Written(html, stages)


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of which every text was written by somebody who means ill."""
    folder = tmp_path_factory.mktemp("hostile")
    manifest = example_manifest(f"# {HOSTILE}\n[figures.matrix]\n", "hostile")
    manifest = manifest.model_copy(
        update={"question": HOSTILE, "experiment": HOSTILE, "device": HOSTILE, "command": HOSTILE}
    )
    run = RunFolder.create(folder / "results", "hostile", manifest)
    texts = {"target": HOSTILE, "device": HOSTILE, "mask": HOSTILE, "experiment": HOSTILE, "run": run.run}
    for variant, time_s in ((HOSTILE, 0.001), ("flash", 0.002)):
        run.append_result(make_result(variant, time_s=time_s, key="../../etc", **texts))
        run.append_result(
            make_result(
                variant, 512, status=Status.WRONG, phase="check", reason=HOSTILE, rerun=HOSTILE, **texts
            )
        )
    html = make_report([run.path], formats=("svg",)).html
    assert html is not None
    return html
