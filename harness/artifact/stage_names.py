"""The names of a build's last stages, the same on every target, and what else these are called."""

from collections.abc import Mapping
from pathlib import PurePath

ASSEMBLY = "assembly"
OBJECT = "object"
"""What a device, or a baseline's runtime, loads."""

OTHER_NAMES: Mapping[str, tuple[str, str]] = {
    "ptx": (ASSEMBLY, ".ptx"),
    "rocmasm": (ASSEMBLY, ".rocmasm"),
    "spirv": (ASSEMBLY, ".spvasm"),
    "module": (OBJECT, ".vmfb"),
}
"""For which stage another name stands, and the suffix that the stage's file has where it has that name."""


def stage_called(name: str, files: Mapping[str, str]) -> str | None:
    """Return the stage that has a name, or is also called so, of those with these files; None without any."""
    if name in files:
        return name
    stage, suffix = OTHER_NAMES.get(name, ("", ""))
    return stage if stage in files and PurePath(files[stage]).suffix == suffix else None
