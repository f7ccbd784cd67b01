"""What commands ask of the other modules, recorded instead of done, and the line that bad input leaves."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from example_results import example_result

from harness.bench.running.time_spent import TimeSpent
from harness.reporting.figures.base import USUAL_FORMATS
from harness.results.result import Result

EXPERIMENT = """
name = "trial"
question = "Does it work?"
variants = ["unfused", "flash"]
[problem]
heads = 4
head_dim = 64
seq = [64, 128]
"""


class Calls:
    """What the commands asked of the runner and of reporting, and what the runner is to answer."""

    def __init__(self, folder: Path) -> None:
        self.results: list[Result] = [example_result()]
        self.folder = folder
        self.runs: list[dict[str, Any]] = []
        self.reports: list[tuple[Any, ...]] = []
        self.report_arguments: dict[str, Any] = {}
        self.redrawn: list[tuple[Any, ...]] = []
        self.skipped: dict[str, str] = {}
        self.notes: tuple[str, ...] = ()
        self.interruption: BaseException | None = None

    def run_experiment(self, experiment: Any, cases: list[Any], **arguments: Any) -> Any:
        self.runs.append({"experiment": experiment.name, "cases": cases, **arguments})
        if self.interruption is not None:
            raise self.interruption
        return SimpleNamespace(
            folder=self.folder, results=self.results, spent=TimeSpent(), end=lambda: "took 1.0 s"
        )

    def make_report(
        self,
        folders: list[Path],
        out: Path | None = None,
        formats: tuple[str, ...] = USUAL_FORMATS,
        **arguments: Any,
    ) -> Any:
        self.reports.append((folders, out, formats))
        self.report_arguments = arguments
        print(f"tables of {len(folders)}")
        return SimpleNamespace(
            folder=self.folder / "report", notes=self.notes, html=self.folder / "report" / "report.html"
        )

    def redraw(
        self, folders: list[Path], figures: list[str], settings: list[str], *others: Any, **named: Any
    ) -> Any:
        self.redrawn.append((folders, figures, settings))
        files = {"throughput": (Path("throughput.png"),)}
        return SimpleNamespace(files=files, notes=self.notes, skipped=self.skipped)
