"""What the stages of a build leave as soon as they are through, for a build that then fails or crashes.

An artifact's folder is there whole or not at all.  Whoever wants to see how far a build came gives it
another folder: each stage is a file there before the next one begins, so that it outlives the process.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from harness.system.validation import FrozenModel

SUFFIX = ".json"


class ReachedStage(FrozenModel):
    """The output of one stage."""

    name: str
    suffix: str
    """That of a file with the text: `mlir`."""
    text: str
    seconds: float


class ReachedStages:
    """Writes the outputs of stages to a folder, while somebody wants them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._numbers = itertools.count()

    @contextmanager
    def left_in(self, folder: Path | None) -> Iterator[None]:
        """Leave what stages put out from here on in a folder that exists; None leaves nothing."""
        self._folder, self._numbers = folder, itertools.count()
        try:
            yield
        finally:
            self._folder = None

    def leave(self, stage: ReachedStage) -> None:
        """Write down a stage that a build is through with."""
        if self._folder is not None:
            file = self._folder / f"{next(self._numbers):04}{SUFFIX}"
            file.write_text(stage.model_dump_json(), encoding="utf-8")


reached_stages = ReachedStages()
"""Those of this process, which builds one case at a time."""


def stages_left_in(folder: Path) -> tuple[ReachedStage, ...]:
    """Return the stages that a build has left in a folder, in order, without a file that was cut short."""
    stages: dict[str, ReachedStage] = {}
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            stage = ReachedStage.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            continue
        stages[stage.name] = stage
    return tuple(stages.values())
