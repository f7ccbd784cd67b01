"""What a pipeline leaves behind: the output of each stage, and how long it took."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import raised_in

if TYPE_CHECKING:
    from mlir import ir


class StageRecorder:
    """Runs stages one after another and keeps each one's output in a folder."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        """Files are numbered by the position of their stage among `names`."""
        self.seconds: dict[str, float] = {}
        self.files: dict[str, str] = {}
        self._folder = folder
        self._numbers = {name: number for number, name in enumerate(names)}

    def run(self, name: str, stage: Callable[[], str], suffix: str = "mlir") -> str:
        """Run a stage that returns its output as text; an error says in which stage it was raised."""
        started = time.perf_counter()
        with raised_in(f'stage "{name}"'):
            text = stage()
        self.seconds[name] = time.perf_counter() - started
        self.files[name] = f"{self._numbers[name]:02}-{name}.{suffix}"
        (self._folder / self.files[name]).write_text(text, encoding="utf-8")
        return text

    def change(self, name: str, stage: Callable[["ir.Module"], None], module: "ir.Module") -> None:
        """Run a stage that changes a module in place."""

        def changed() -> str:
            stage(module)
            return str(module)

        self.run(name, changed)
