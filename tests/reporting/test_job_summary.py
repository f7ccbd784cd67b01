"""What the page of a CI job says first."""

import pytest
from example_results import example_result, failed_result

from harness.reporting.job_summary import FailedCase, JobSummary, job_summary
from harness.system.status import Status, checked_line


@pytest.mark.parametrize(
    ("not_run", "first"), [(0, "## sweep: 1 of 2 cases failed"), (3, "## sweep: 2 of 5 cases ran, 1 failed")]
)
def test_an_interrupted_run_says_first_how_many_of_how_many_ran(not_run: int, first: str) -> None:
    rows = [example_result("a"), failed_result("b")]
    failed = [FailedCase("b", "signal 11", "harness check x --only case=b")]
    text = job_summary(JobSummary("sweep", rows, failed, not_run))
    assert text.splitlines()[0] == first


def test_the_line_of_an_interrupted_session_begins_likewise() -> None:
    statuses = [Status.PASSED, Status.UNSUPPORTED]
    assert checked_line(statuses, 3).startswith("2 of 5 cases ran: 1 of 5 cases checked")
    assert checked_line(statuses).startswith("1 of 2 cases checked")
