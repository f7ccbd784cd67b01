"""Comparisons of revisions that are ended: finished pairs are kept, and the next one goes on from them."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from example_results import example_manifest, example_result

from harness.bench.comparing import revisions
from harness.bench.comparing.comparison import Comparison
from harness.bench.comparing.revisions import Revision, compare_revisions
from harness.results.run_folder import RunFolder
from harness.system.errors import RunInterrupted


class Comparing:
    """Two revisions, whose runs are made beforehand, and a folder of their runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.experiments: list[Path] = []
        self.experiment = folder / "sweep.toml"
        self.experiment.write_text("first")
        self.old, self.new = (self._revision(name, time_s) for name, time_s in (("old", 0.5), ("new", 0.25)))

    def _revision(self, name: str, time_s: float) -> Revision:
        run = RunFolder.create(self.folder / "templates" / name, "sweep", example_manifest())
        run.append_result(example_result("0" * 12, time_s=time_s, device="a processor", binary_digest=name))
        run.release()
        return Revision(name, "0" * 40, run.path)

    def run(self, revision: Revision, experiment: Path, out: Path, options: Sequence[str]) -> None:
        """Take a run of a revision for one that was just made."""
        self.experiments.append(experiment)
        count = len(list(out.glob("sweep/*")))
        shutil.copytree(revision.folder, out / "sweep" / f"2026-11-21T10-00-0{count}")

    def compare(self, tell: Callable[[str], None], *, pairs: int = 4, resume: bool = True) -> Comparison:
        """Compare them, with the pairs that are finished already."""
        return compare_revisions(
            (self.old, self.new),
            self.experiment,
            self.folder / "out",
            only=(),
            pairs=pairs,
            threshold=0.03,
            tell=tell,
            resume=resume,
        )

    def compare_until(self, pair: int, *, resume: bool = True) -> None:
        """Compare them, and be interrupted when this pair begins."""

        def interrupt(line: str) -> None:
            if line.startswith(f"pair {pair} "):
                raise KeyboardInterrupt

        with pytest.raises(RunInterrupted, match=rf"^{pair - 1} of 4 pairs finished$"):
            self.compare(interrupt, resume=resume)


@pytest.fixture
def comparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparing:
    comparing = Comparing(tmp_path)
    monkeypatch.setattr(revisions, "_run", comparing.run)
    return comparing


def test_finished_pairs_of_an_interrupted_comparison_are_kept(comparing: Comparing) -> None:
    comparing.compare_until(3)
    told: list[str] = []
    compared = comparing.compare(told.append)
    assert told[:2] == ["pair-1 is finished already", "pair-2 is finished already"]
    assert [line.partition(":")[0] for line in told[2:]] == ["pair 3 of 4"] * 2 + ["pair 4 of 4"] * 2
    assert compared.notes[0] == "4 pairs of runs, in turn"
    assert compared.cases["ratio"].iloc[0] == pytest.approx(0.5)


def test_all_pairs_are_of_the_text_that_the_first_one_had(comparing: Comparing) -> None:
    edited_while = []

    def edit(line: str) -> None:
        if line.startswith("pair 2 "):
            comparing.experiment.write_text("second")
        if line.startswith("pair "):
            (copy,) = (comparing.folder / "out").glob("*/sweep.toml")
            edited_while.append(copy.read_text())

    comparing.compare(edit, pairs=3)
    assert edited_while == ["first"] * 6
    assert set(comparing.experiments) == set((comparing.folder / "out").glob("*/sweep.toml"))
    told: list[str] = []
    comparing.compare(told.append, pairs=3)
    assert "finished already" not in told[0], "pairs of the first text are none of the second"


def test_the_newest_comparison_goes_on(comparing: Comparing) -> None:
    comparing.compare_until(4)
    comparing.compare_until(2, resume=False)
    told: list[str] = []
    comparing.compare(told.append)
    assert told[0] == "pair-1 is finished already"
    assert told[1].startswith("pair 2 of 4: ")


@pytest.mark.parametrize(
    "change",
    [
        {"device": "another processor"},
        {"packages": {"numpy": "1.0"}},
    ],
)
def test_pairs_of_another_machine_or_other_packages_do_not_count(
    comparing: Comparing, change: dict[str, Any]
) -> None:
    comparing.compare_until(4)
    for name in ("old", "new"):
        (path, *_) = sorted((comparing.folder / "out").glob(f"*/pair-*/{name}/sweep/*/manifest.json"))
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, **change}))
    told: list[str] = []
    comparing.compare(told.append)
    assert told[0].startswith("pair 1 of 4: ")
    assert [line for line in told if "finished" in line] == [
        "pair-2 is finished already",
        "pair-3 is finished already",
    ]
