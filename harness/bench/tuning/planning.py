"""Candidates before anything is built: their settings, as they are chosen or cut, or why they are refused."""

from functools import partial
from typing import Self

from harness import plugins
from harness.bench.building.case_build import require_supported
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Life
from harness.experiment.case_settings import Settings
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.system.status import Status


def plan_request(life: Life, case: Case) -> Settings:
    """Return all settings of a case, in a worker, those that are chosen or cut as they will be.

    Raises `UnsupportedError` for what variant or target say that they cannot build.
    """
    require_supported(case)
    with plugins.asked("variant", case.variant, "what it chooses (chosen)"):
        variant = plugins.variant(case.variant)
        chosen = variant.chosen(case)
        why = variant.why_unbuildable(case)
    if why is not None:
        raise UnsupportedError(why)
    return {**case.settings, **chosen}


class Planning:
    """Plans candidates in a worker, which stays for the next one."""

    def __init__(self, timeout_s: float) -> None:
        """Start nothing yet."""
        self._timeout_s = timeout_s
        self._worker: WorkerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def settings_of(self, case: Case) -> Settings:
        """Return what `plan_request` returns; raises `UnsupportedError` with the reason for what is refused.

        Raises `WorkerFailure` where the variant's or the target's code fails.
        """
        if self._worker is None or not self._worker.alive:
            self.close()
            self._worker = WorkerProcess(threads=1)
        try:
            return self._worker.request(partial(plan_request, case=case), self._timeout_s)
        except WorkerFailure as failure:
            if failure.status is Status.UNSUPPORTED:
                raise UnsupportedError(failure.reason) from failure
            raise

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
