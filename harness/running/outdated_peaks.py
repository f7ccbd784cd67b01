"""Peaks of a run that were measured by code, or on a device, that is another now: measured again."""

from collections.abc import Iterable

from harness import plugins
from harness.code_digests import OWN_PACKAGE, code_of_plugin
from harness.errors import HarnessError
from harness.printable import printable
from harness.problem.case import Case
from harness.results.manifest import Manifest, Part, part_of
from harness.running.peak_names import name_peak

DEVICE = "device of the peak"
"""Stands beside the names of code that measures a peak; no code is called so."""


def outdated_peaks(manifest: Manifest, described: Manifest) -> set[str]:
    """Return the names of a run's peaks whose target has other code, or another device, as `described`."""
    now = part_of(described)
    manifest = manifest.model_copy(update={"parts": (*manifest.parts, now)})
    names = {*manifest.peaks, *manifest.bandwidths, *manifest.unmeasured}
    return {name for name in names if same_since(manifest, name) == now.started}


def devices_of_peaks(cases: Iterable[Case]) -> dict[str, str]:
    """Return the device that each peak of some cases is measured on here, by the peak's name.

    A target whose code cannot say its device has none: its cases say why.
    """
    found: dict[str, str] = {}
    for case in cases:
        name = name_peak(case).name
        if name in found:
            continue
        try:
            found[name] = printable(str(plugins.target(case.target).device_of(case)))
        except Exception:  # a plugin's own code
            continue
    return found


def same_since(manifest: Manifest, peak: str) -> str:
    """Return when a run began, or was taken up again, with the code and device that measure a peak now."""
    try:
        code = set(code_of_plugin("target", peak.partition(" ")[0]))
    except HarnessError:  # nothing measures it now
        code = {OWN_PACKAGE}
    since, known = manifest.started, _measured_with(manifest, peak)
    for part in manifest.parts:
        now = _measured_with(part, peak)
        if any(known[what] != now[what] for what in (code | {DEVICE}) & known.keys() & now.keys()):
            since = part.started
        known |= now
    return since


def _measured_with(part: Manifest | Part, peak: str) -> dict[str, str]:
    """Return the device of a peak, and the digests of code by name, that a part went on with."""
    device = part.devices_of_peaks.get(peak)
    return {
        **part.plugin_code,
        OWN_PACKAGE: part.code_digest,
        **({} if device is None else {DEVICE: device}),
    }
