"""Whether two builds made the same code: a digest of what runs."""

import functools
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.code_digests import OWN_PACKAGE, code_digest_at
from harness.artifact.stage_names import OBJECT
from harness.system.digest import digest
from harness.system.storage.digests import DIGESTS_FILE

LAUNCHING = (
    "artifact",
    "targets/lowering/buffers.py",
    *(f"targets/cpu/{name}.py" for name in ("executable", "launch", "object_code")),
    *(f"targets/gpu/{name}.py" for name in ("driver", "event_timer", "executable", "launch", "streams")),
    *(f"targets/{name}" for name in ("cuda/device", "rocm/device", "xegpu/device", "xegpu/processor")),
    *(f"variants/{name}.py" for name in ("slowed_call", "baselines/iree/calls")),
)
"""Files and folders of this package that call machine code: a call can become slower by these alone."""
PACKAGES = ("numpy", "llvmlite", "iree-base-runtime", "cuda-bindings", "intel-opencl-rt")
VARYING = ".vmfb"
"""The suffix of IREE's modules, which differ between builds of the same code."""
PACKAGE = Path(__file__).parents[1]


def binary_digest(artifact: Artifact, folder: Path, package: Path = PACKAGE) -> str | None:
    """Return a digest of an artifact's machine code, of how it is launched, and of the code that does so.

    The texts of stages, and IREE's modules, are left out: another way to the same code gives the same digest.
    A plugin's loader may run them nevertheless, or choose by parameters what it runs: there the content key
    counts instead, of whatever the case depends on.  None where the code is not in the folder, as that of a
    library, or the folder does not say what it holds.  `package` is the folder of this package as it is in
    the revision that launches the code.
    """
    try:
        noted = json.loads((folder / DIGESTS_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(noted, dict):
        return None
    told = {file for stage, file in artifact.stage_files.items() if stage != OBJECT or file.endswith(VARYING)}
    others = {ARTIFACT_FILE, *told}
    code = {name: value for name, value in noted.items() if name not in others}
    if not code:
        return None
    launched = [artifact.launch, artifact.ranks, artifact.page_size, artifact.is_padded]
    is_own = artifact.loader.partition(".")[0] == OWN_PACKAGE
    return digest([code, launched, _launching_digest(package) if is_own else [artifact.key, artifact.chosen]])


@functools.cache
def _launching_digest(package: Path) -> str:
    """Return the digest of the code of this package that launches, and of what it launches through."""
    code = {
        f"{OWN_PACKAGE}:{name}": code_digest_at(f"{OWN_PACKAGE}:{name}", [package])
        for name in LAUNCHING
        if (package / name).exists()
    }
    return digest([code, [installed_version(name) for name in PACKAGES]])


def installed_version(distribution: str) -> str | None:
    """Return a distribution's version; None where it is not installed, or its files do not say it."""
    try:
        return version(distribution)
    except (PackageNotFoundError, TypeError, KeyError):
        return None
