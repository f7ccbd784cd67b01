"""What the README shows works as it is written."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    assert len(names["frame"]) == 120
