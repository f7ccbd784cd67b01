"""What launches on the emulator did."""

import pytest

from harness.emulator.findings import Report
from harness.targets.gpu import emulator_driver


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """What the launches of a test did."""
    made: list[Report] = []
    launch = emulator_driver.launch

    def noting(*arguments, **options) -> Report:
        made.append(launch(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(emulator_driver, "launch", noting)
    return made
