"""A correctness matrix as JUnit XML, which continuous-integration services show as tests."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from harness.reporting.outcomes import Demands, failure_of, is_skipped, reason_of
from harness.results.result import Result
from harness.system.plurals import counted
from harness.system.storage.reading import refusals_told

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, such as a compiler's colour codes."""


def write_junit(
    results: Iterable[Result], path: Path, file: str, names: Mapping[str, str], demands: Demands
) -> None:
    """Write one test case per result: failures with reason and rerun command, unsupported ones as skipped.

    Tests have the names that pytest gives them: `file` is the experiment's, `names` are those of all cases by
    id.  Where some have no result, an error says that the run was interrupted.
    """
    rows = list(results)
    outcomes = [(row, failure_of(row, demands)) for row in rows]
    is_incomplete = len(rows) < len(names)
    class_name = _xml(file.replace("/", "."))
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(rows[0].experiment) if rows else "harness",
        tests=str(len(rows) + is_incomplete),
        failures=str(sum(failure is not None for _, failure in outcomes)),
        errors=str(int(is_incomplete)),
        skipped=str(sum(is_skipped(row) for row, failure in outcomes if failure is None)),
        time=f"{sum(map(_seconds, rows)):.3f}",
    )
    for row, failure in outcomes:
        suite.append(_test_case(row, failure, class_name, names.get(row.case, row.case)))
    if is_incomplete:
        missing = ElementTree.SubElement(suite, "testcase", classname=class_name, name="all cases run")
        message = f"interrupted: {len(rows)} of {counted(len(names), 'case')} ran"
        ElementTree.SubElement(missing, "error", type="interrupted", message=message)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    with refusals_told(f"--junit {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _seconds(row: Result) -> float:
    return row.elapsed_s or 0.0


def _test_case(row: Result, failure: str | None, class_name: str, name: str) -> ElementTree.Element:
    time = f"{_seconds(row):.3f}"
    case = ElementTree.Element("testcase", classname=class_name, name=_xml(name), time=time)
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", name="case", value=row.case)
    reason = _xml(reason_of(row))
    if failure is not None:
        failed = ElementTree.SubElement(case, "failure", type=row.status.value, message=_xml(failure))
        failed.text = reason + (f"\nrerun: {_xml(row.rerun)}" if row.rerun else "")
    elif is_skipped(row):
        ElementTree.SubElement(case, "skipped", message=reason)
    return case


def _xml(text: str) -> str:
    return NOT_IN_XML.sub("", text)
