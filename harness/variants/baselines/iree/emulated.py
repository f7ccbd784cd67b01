"""The executor `emulator` of IREE's modules: IREE's own runtime, on a stub driver."""

from contextlib import AbstractContextManager
from pathlib import Path

import iree.runtime

from harness.artifact.artifact import Artifact
from harness.emulator.device_code import load_saved
from harness.emulator.drivers.registry import (
    LoadedImage,
    launch_reports,
    load_image,
    prepare_launches,
    registered,
)
from harness.emulator.drivers.stub import stub
from harness.emulator.findings import Report
from harness.emulator.launching import MAXIMUM_PROCESSES, LaunchSettings
from harness.emulator.native_library import ONE_AT_A_TIME
from harness.system.errors import EmulatorFindingsError, HarnessError
from harness.system.machine.cores import allotted_cores
from harness.variants.baselines.iree.calls import IreeExecutable

IREE_ERRORS = (RuntimeError, ValueError, IndexError)
"""What IREE raises, by the kind of failure."""

_devices: dict[str, iree.runtime.HalDevice] = {}
_broken_devices: list[iree.runtime.HalDevice] = []
"""Kept, because buffers may outlive whoever has allocated them, but not their device."""


def load(artifact: Artifact, folder: Path) -> "EmulatedExecutable":
    """Load a module for the emulator, which uses the allotted cores and both orders of lanes and warps.

    `artifact.launch` names, besides what `iree_calls` needs, the `driver` that the module is for, the `chip`,
    and the subfolder `emulator` with what `saved_code.save` has written.
    """
    images = [load_image(image) for image in load_saved(folder / artifact.launch["emulator"])]
    settings = LaunchSettings(processes=min(allotted_cores(), MAXIMUM_PROCESSES))
    with ONE_AT_A_TIME:
        return EmulatedExecutable(artifact, folder, images, settings)


def open_device(driver: str) -> iree.runtime.HalDevice:
    """Return IREE's device of a driver that is a stub in this process."""
    if driver not in _devices:
        # Buffers that IREE uses again would hold old results instead of poison.
        iree.runtime.flags.parse_flags("--hip_async_caching=false")
        _devices[driver] = iree.runtime.get_device(driver, cache=False)
    return _devices[driver]


def give_up_device(driver: str) -> None:
    """Let the next module have another device: IREE no longer uses one that has failed."""
    if driver in _devices:
        _broken_devices.append(_devices.pop(driver))


class EmulatedExecutable(IreeExecutable):
    """A function of an IREE module whose kernels the emulator runs and checks."""

    def __init__(
        self, artifact: Artifact, folder: Path, images: list[LoadedImage], settings: LaunchSettings
    ) -> None:
        self.settings = settings
        self.reports: list[Report] = []
        """What the launches of the last call did."""
        self._images = images
        self._chip: str = artifact.launch["chip"]
        self._driver: str = artifact.launch["driver"]
        self._stub = stub(self._driver)
        self._stub.select(self._chip)
        try:
            with registered(images):
                super().__init__(artifact, folder, open_device(self._driver))
        except IREE_ERRORS as error:
            raise self._error(error) from error

    def turn(self) -> AbstractContextManager[object]:
        """Wait for other threads: all modules share the stub driver, its launches and its failures."""
        return ONE_AT_A_TIME

    def invoke(self, arguments: iree.runtime.VmVariantList) -> iree.runtime.VmVariantList:
        """Call the function; raises `EmulatorFindingsError` if the checks have found something."""
        self._stub.select(self._chip)
        prepare_launches(self.settings)
        try:
            results = super().invoke(arguments)
        except IREE_ERRORS as error:
            give_up_device(self._driver)
            self._read_reports()
            raise self._error(error) from error
        self._read_reports()
        return results

    def _read_reports(self) -> None:
        self.reports = launch_reports(self._images)
        findings = [str(finding) for report in self.reports for finding in report.findings]
        if findings:
            raise EmulatorFindingsError(findings)

    def _error(self, error: Exception) -> HarnessError:
        """Return an error with the driver's own words, if it is to blame: IREE's message is long."""
        return HarnessError(self._stub.first_failure() or f"IREE: {str(error).splitlines()[0]}")
