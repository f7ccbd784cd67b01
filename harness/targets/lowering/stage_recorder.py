"""What a pipeline leaves behind: the output of each stage, and how long it took."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from harness.artifact.reached_stages import ReachedStage, reached_stages
from harness.system.errors import raised_in
from harness.targets.base import OBJECT, Stage


class StageRecorder:
    """Runs stages one after another and keeps each one's output in a folder."""

    def __init__(self, folder: Path, stages: Iterable[Stage]) -> None:
        """Files are numbered by the position of their stage among `stages`."""
        self.seconds: dict[str, float] = {}
        self.files: dict[str, str] = {}
        self._folder = folder
        self._numbers = {stage.name: number for number, stage in enumerate(stages)}

    def run_all(self, stages: Iterable[Stage], state: Any) -> None:
        """Run stages one after another on what they hand on."""
        for stage in stages:
            if stage.run is not None:
                self.record(stage, partial(stage.run, state))

    def record(self, stage: Stage, run: Callable[[], str | None]) -> None:
        """Run a stage that returns its output as text; an error says in which stage it was raised.

        A stage without output was left out: nothing is kept of it.
        """
        started = time.perf_counter()
        with raised_in(f'stage "{stage.name}"'):
            text = run()
        if text is None:
            return
        seconds = self.seconds[stage.name] = time.perf_counter() - started
        self.files[stage.name] = f"{self._numbers[stage.name]:02}-{stage.name}.{stage.suffix}"
        (self._folder / self.files[stage.name]).write_text(text, encoding="utf-8")
        reached_stages.leave(ReachedStage(name=stage.name, suffix=stage.suffix, text=text, seconds=seconds))

    def name_object(self, file: str) -> None:
        """Say which file of the folder is what the device loads."""
        self.files[OBJECT.name] = file

    def in_order(self) -> dict[str, Any]:
        """Return the artifact's fields on its stages, in the order of the pipeline."""
        names = [name for name in self._numbers if name in self.files]
        return {
            "stage_seconds": {name: self.seconds[name] for name in names if name in self.seconds},
            "stage_files": {name: self.files[name] for name in names},
        }
