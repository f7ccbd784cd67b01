"""A correctness matrix as JUnit XML, which continuous-integration services show as tests."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from harness.reporting.outcomes import headline, is_skipped, reason_of
from harness.results.result import Result
from harness.system.errors import InputError

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, such as a compiler's colour codes."""


def write_junit(results: Iterable[Result], path: Path, file: str, names: Mapping[str, str]) -> None:
    """Write one test case per result: failures with reason and rerun command, unsupported ones as skipped.

    Tests have the names that pytest gives them: `file` is the experiment's, `names` are those of cases by id.
    """
    rows = list(results)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(rows[0].experiment) if rows else "harness",
        tests=str(len(rows)),
        failures=str(sum(row.status.is_failure for row in rows)),
        errors="0",
        skipped=str(sum(is_skipped(row) for row in rows)),
        time=f"{sum(map(_seconds, rows)):.3f}",
    )
    for row in rows:
        suite.append(_test_case(row, file, names.get(row.case, row.case)))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise InputError(f"--junit {path}: {error.strerror}; expected a file that can be written") from error


def _seconds(row: Result) -> float:
    return row.elapsed_s or 0.0


def _test_case(row: Result, file: str, name: str) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=_xml(file.replace("/", ".")),
        name=_xml(name),
        time=f"{_seconds(row):.3f}",
    )
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", name="case", value=row.case)
    reason = _xml(reason_of(row))
    if row.status.is_failure:
        failure = ElementTree.SubElement(case, "failure", type=row.status.value, message=_xml(headline(row)))
        failure.text = reason + (f"\nrerun: {_xml(row.rerun)}" if row.rerun else "")
    elif is_skipped(row):
        ElementTree.SubElement(case, "skipped", message=reason)
    return case


def _xml(text: str) -> str:
    return NOT_IN_XML.sub("", text)
