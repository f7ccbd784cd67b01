from pathlib import Path
from xml.etree import ElementTree

from example_results import example_result, failed_result

from harness.reporting.junit import write_junit
from harness.reporting.outcomes import Demands
from harness.results.result import Result
from harness.system.status import Status

NAMES = {"9f3c00000000": "flash:\0cpu-b1-s64"}
NO_DEMANDS = Demands()


def suite_of(results: list[Result], path: Path, demands: Demands = NO_DEMANDS) -> ElementTree.Element:
    write_junit(results, path, "experiments/sw\x01eep.toml", NAMES, demands)
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert suite is not None
    return suite


def outcome(suite: ElementTree.Element) -> ElementTree.Element:
    """Return the one element inside the one test case."""
    (element,) = (element for case in suite for element in case if element.tag != "properties")
    return element


def test_counts_of_tests_failures_and_skipped(tmp_path: Path) -> None:
    results = [
        example_result("a"),
        failed_result("b", Status.EMULATED, phase=None, reason=None),
        failed_result("c", Status.UNSUPPORTED),
        failed_result("d", Status.BUILT),
        *(failed_result(status.value, status) for status in Status if status.is_failure),
    ]
    suite = suite_of(results, tmp_path / "junit.xml")
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "skipped", "errors")}
    assert counts == {"name": "sweep", "tests": "9", "failures": "5", "skipped": "2", "errors": "0"}
    assert [len(case.findall("failure")) for case in suite] == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert [len(case.findall("skipped")) for case in suite] == [0, 0, 1, 1, 0, 0, 0, 0, 0]


def test_a_case_is_named_by_experiment_and_item_and_has_its_id(tmp_path: Path) -> None:
    (case,) = suite_of([example_result("9f3c00000000", params={"tile_kv": 64})], tmp_path / "junit.xml")
    assert (case.get("classname"), case.get("name")) == ("experiments.sweep.toml", "flash:cpu-b1-s64")
    assert [field.attrib for field in case.iter("property")] == [{"name": "case", "value": "9f3c00000000"}]


def test_a_failure_gives_reason_and_rerun_command(tmp_path: Path) -> None:
    row = failed_result(
        status=Status.WRONG, phase="check", reason="error 3.0\nrow 7", rerun="harness check x"
    )
    failure = outcome(suite_of([row], tmp_path / "junit.xml"))
    assert (failure.tag, failure.get("type")) == ("failure", "wrong")
    assert failure.get("message") == "wrong in check: error 3.0"
    assert failure.text == "error 3.0\nrow 7\nrerun: harness check x"


def test_a_case_that_is_to_be_supported_or_checked_fails(tmp_path: Path) -> None:
    row = failed_result(status=Status.UNSUPPORTED, variant="torch", reason="install it")
    for demands in (Demands(["torch"]), Demands(is_strict=True)):
        suite = suite_of([row], tmp_path / "junit.xml", demands)
        assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")
        assert (outcome(suite).tag, outcome(suite).text) == ("failure", "install it")
    assert outcome(suite_of([row], tmp_path / "junit.xml", Demands(["flash"]))).tag == "skipped"


def test_an_interrupted_check_has_an_error(tmp_path: Path) -> None:
    suite = suite_of([], tmp_path / "junit.xml")
    assert (suite.get("tests"), suite.get("errors"), outcome(suite).tag) == ("1", "1", "error")
    assert outcome(suite).get("message") == "interrupted: 0 of 1 case ran"


def test_cases_and_the_suite_have_times(tmp_path: Path) -> None:
    rows = [
        example_result("a", build_s=1.0, elapsed_s=1.25),
        example_result("b"),
        failed_result("c"),
    ]
    suite = suite_of(rows, tmp_path / "junit.xml")
    assert [case.get("time") for case in suite] == ["1.250", "0.000", "0.000"]
    assert suite.get("time") == "1.250"


def test_no_text_holds_what_xml_cannot(tmp_path: Path) -> None:
    texts = {"variant": "fl\x1bash", "target": "c\0pu", "experiment": "swe\x01ep", "rerun": "harness \ud800"}
    suite = suite_of([failed_result(status=Status.WRONG, reason="\ufffe", **texts)], tmp_path / "junit.xml")
    assert suite.get("name") == "sweep"
    assert (outcome(suite).text or "").endswith("rerun: harness ")
