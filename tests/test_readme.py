"""What the README shows works as it is written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from readme_numbers import busy_sentence, claims, manifest, newest_run, panel_table

ROOT = Path(__file__).parents[1]


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "results").symlink_to(ROOT / "results" / "reference")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    arrays = names["q"], names["k"], names["v"]
    assert arrays[0].dtype == np.float32
    assert names["artifact"].case.problem.dtype == "f32"
    assert names["kernel"](*arrays).shape == names["out"].shape
    assert len(names["frame"]) == 104


def readme() -> str:
    """The README's text with its lines joined, so that a sentence is found wherever it is broken."""
    return " ".join((ROOT / "README.md").read_text().split())


def test_the_table_is_the_reference_run() -> None:
    table = "\n".join(panel_table())
    assert table in (ROOT / "README.md").read_text(), f"expected in README.md:\n{table}"


@pytest.mark.parametrize("sentence", [busy_sentence(), *claims()])
def test_what_is_claimed_follows_from_the_reference_runs(sentence: str) -> None:
    assert sentence in readme()


def test_text_has_no_other_measured_numbers() -> None:
    """GFLOP/s, ratios with × and percentages are those of the table and the claims."""
    text = readme()
    for known in [" ".join(panel_table()), busy_sentence(), *claims(), "95 % interval"]:
        text = text.replace(" ".join(known.split()), "")
    assert re.findall(r"\d[\d.]*\s?(?:×|%|GFLOP)", text) == []


@pytest.mark.parametrize("experiment", ["seq_sweep", "flash_vs_torch"])
def test_newest_reference_run_is_linked_with_commit(experiment: str) -> None:
    run = newest_run(experiment)
    assert f"({run.relative_to(ROOT)}/report/summary.md)" in readme()
    assert f"commit {(manifest(run).git_commit or '')[:7]}" in readme()
    assert f"experiments/{experiment}.toml" in (manifest(run).command or ""), "the command is the one shown"
