"""Peaks of a run that were measured by code which has changed since: a resumed run measures them again."""

from harness import plugins
from harness.code_packages import code_packages
from harness.digest import OWN_PACKAGE
from harness.errors import HarnessError
from harness.results.manifest import Manifest, Part, part_of


def outdated_peaks(manifest: Manifest, described: Manifest) -> set[str]:
    """Return the names of a run's peaks whose target's code is another where it goes on as `described`."""
    now = part_of(described)
    manifest = manifest.model_copy(update={"parts": (*manifest.parts, now)})
    names = {*manifest.peaks, *manifest.bandwidths, *manifest.unmeasured}
    return {name for name in names if has_code_since(manifest, target_of(name)) == now.started}


def target_of(peak: str) -> str:
    """Return the target that a peak's name begins with."""
    return peak.partition(" ")[0]


def has_code_since(manifest: Manifest, target: str) -> str:
    """Return when a run began, or was taken up again, with the code of a target that it goes on with now."""
    try:
        packages = code_packages(plugins.target(target))
    except HarnessError:  # nothing measures its peak now
        packages = {OWN_PACKAGE}
    since, known = manifest.started, _digests(manifest)
    for part in manifest.parts:
        now = _digests(part)
        if any(known[package] != now[package] for package in packages & known.keys() & now.keys()):
            since = part.started
        known |= now
    return since


def _digests(part: Manifest | Part) -> dict[str, str]:
    """Return the digests of the sources that a part of a run went on with, by package."""
    return {**part.plugin_code, OWN_PACKAGE: part.code_digest}
