"""Hardware counters of cases that were timed, read by the profiler of their target's vendor."""

import subprocess
from collections.abc import Iterable

from harness import plugins
from harness.bench.row_maker import CaseRecord
from harness.bench.running.context import RunContext
from harness.problem.case import Case
from harness.system.errors import HarnessError, InputError, one_line
from harness.targets.base import chip_of

OPTION = "--counters"


def require_counters(cases: Iterable[Case]) -> None:
    """Raise `InputError` where no target of the cases has counters that can be read here."""
    targets = dict.fromkeys(case.target for case in cases)
    reasons = [plugins.target(target).why_no_counters(chip_of(target)) for target in targets]
    if all(reason is not None for reason in reasons):
        raise InputError(f"{OPTION}: {'; '.join(dict.fromkeys(filter(None, reasons)))}")


def count(context: RunContext, record: CaseRecord) -> None:
    """Note the counters of a timed case, where its target has some; a profiler that fails is told of."""
    target = plugins.target(record.case.target)
    if not context.settings.counters or record.executor != "device" or record.folder is None:
        return
    if target.why_no_counters(chip_of(record.case.target)) is not None:
        return
    try:
        with record.elapsing():
            record.counters = target.counters(record.case, record.folder, context.step_limit_s)
    except (HarnessError, OSError, subprocess.TimeoutExpired) as error:
        context.observer.message(f"no counters of {record.case.describe()}: {one_line(error)}")
