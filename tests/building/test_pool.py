"""Workers that build, from the side of who waits for them."""

import pytest
from example_cases import example_case

from harness.building.case_build import BuildRequest
from harness.building.pool import BuildPool

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
            list(pool.run([BuildRequest(case=example_case("hang-build"))], lambda request: None))
    finally:
        pool.close()
    assert len(asked) == 2
