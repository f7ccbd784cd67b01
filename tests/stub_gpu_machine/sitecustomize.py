"""Imported by each Python of a stub machine: the driver executes the kernels of artifacts that are loaded.

A driver would compile their PTX, or has the machine code executed.  The stub of it has to be given what the
emulator has made of the same code, which artifacts bring.
"""

import importlib.util
from typing import Any

_kept: list[Any] = []
"""What the driver may launch: as long as the process lives."""


def _execute_what_is_loaded() -> None:
    from harness.artifact.artifact import Artifact

    load = Artifact.load_unchanged

    def load_known(self: Artifact, folder: Any) -> Any:
        from stubbed_device import cuda_images, known

        images = cuda_images(self, folder)
        _kept.append(images)
        with known(images):
            return load(self, folder)

    Artifact.load_unchanged = load_known  # type: ignore[method-assign]


if importlib.util.find_spec("harness") is not None:
    _execute_what_is_loaded()
