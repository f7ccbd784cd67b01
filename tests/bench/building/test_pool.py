"""Workers that build, from the side of who waits for them."""

import pytest
from example_cases import example_case

from harness.artifact.code_digests import code_digest
from harness.bench.building import case_build
from harness.bench.building.pool import BuildPool, note_answer
from harness.bench.row_maker import CaseRecord
from harness.bench.workers.protocol import KeyFound

pytestmark = pytest.mark.usefixtures("example_plugin")


def test_whoever_waits_can_end_the_waiting() -> None:
    """A signal's exception may be lost where Python ignores exceptions; it is asked for again."""
    asked = []

    def end() -> None:
        asked.append(True)
        if len(asked) > 1:
            raise KeyboardInterrupt

    pool = BuildPool(1, timeout_s=60.0, memory_gb=None, while_waiting=end)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(pool.build([CaseRecord(example_case("hang-build"))], lambda case, phase: None))
    finally:
        pool.close()
    assert len(asked) >= 2


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ({"harness": code_digest()}, None),
        ({"harness": "another"}, "harness: the code is not what the run began with"),
        ({"no_such_plugin": "a digest"}, "no_such_plugin: no source file is found"),
    ],
)
def test_a_key_of_other_code_than_here_is_none(code: dict[str, str], reason: str | None) -> None:
    record = CaseRecord(example_case())
    failure = note_answer(record, KeyFound(key="a" * 64, device="cpu", code=code))
    assert (record.key is None) == (failure is not None) == (reason is not None)
    assert failure is None or (failure.transient and str(reason) in failure.reason)


def test_whoever_waits_hears_of_a_build_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_build, "PATIENCE_S", 0.2)
    told: list[str] = []
    pool = BuildPool(1, timeout_s=2.0, memory_gb=None, tell=told.append)
    record = CaseRecord(example_case("hang-build"))
    try:
        ((_, failure),) = pool.build([record], lambda case, phase: None)
    finally:
        pool.close()
    assert failure is not None
    assert "build" in [line.partition(":")[0] for line in told]
    assert all(record.case.describe() in line and line.endswith("at most 2 s") for line in told)
