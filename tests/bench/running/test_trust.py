"""Whether claims of a worker agree with this process's clock."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from harness.bench.running.trust import Trial, require_agreement
from harness.bench.workers.process import WorkerFailure
from harness.system.processes.waiting import longest_wait, waits_of

WAITED = Trial("a sample", claimed_s=1e-3, passed_s=9e-3)


@pytest.mark.parametrize(
    ("claimed_s", "passed_s", "reason"),
    [
        (1e-3, 1.9e-3, None),
        (1e-6, 400e-6, None),
        (1e-3, 2.1e-3, "a sample takes 2.1 ms, and 1 ms by the worker's own clock"),
        (1.0, 1e-3, "a sample says 1e+03 ms, and 1 ms have passed meanwhile"),
    ],
)
def test_both_clocks_agree_within_one_tolerance(
    claimed_s: float, passed_s: float, reason: str | None
) -> None:
    assert Trial("a sample", claimed_s, passed_s).disagreement == reason


def test_a_device_counts_less_than_passes_and_a_first_call_may_take_less() -> None:
    assert replace(WAITED, may_take_longer=True).disagreement is None
    assert Trial("a first call", 9e-3, 1e-3, may_take_less=True).disagreement is None


def test_one_trial_that_agrees_is_enough_and_ends_the_trials() -> None:
    trials = iter([WAITED, Trial("a sample", 1e-3, 1.1e-3), WAITED])
    require_agreement(trials)
    assert list(trials) == [WAITED]
    with pytest.raises(WorkerFailure, match="the time is not to be trusted: a sample takes 9 ms"):
        require_agreement([WAITED] * 3)


SPIN = "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile True: pass\n"


@pytest.mark.skipif(not waits_of(), reason="this system does not count how long threads wait")
def test_what_others_keep_a_process_from_a_processor_counts_as_waiting_and_sleep_does_not() -> None:
    core = SPIN % min(os.sched_getaffinity(0))
    spinning = [subprocess.Popen([sys.executable, "-c", core], stdout=subprocess.PIPE) for _ in range(3)]
    try:
        for process in spinning:
            assert process.stdout is not None
            process.stdout.readline()
        before, began = waits_of(spinning[0].pid), time.perf_counter()
        own = waits_of()
        time.sleep(1.0)
        waited, passed = longest_wait(before, waits_of(spinning[0].pid)), time.perf_counter() - began
    finally:
        for process in spinning:
            process.kill()
            process.communicate()
    assert 0.3 * passed < waited <= passed
    assert longest_wait(own, waits_of()) < 0.3 * passed
