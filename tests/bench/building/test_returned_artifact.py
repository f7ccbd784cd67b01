"""What a variant returns from `build` and `chosen`: a mistake there is told with the field that it is in."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_cases import example_case

from harness import plugins
from harness.artifact.artifact import Artifact, StaticMetrics
from harness.artifact.cache import ArtifactCache
from harness.bench.building.case_build import build_case
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import PluginError

pytestmark = pytest.mark.usefixtures("example_plugin")

Change = Callable[[Artifact], Any]
OTHER = example_case().model_copy(update={"problem": AttentionProblem(heads=2, seq_q=16, head_dim=4)})


def changed(**fields: Any) -> Change:
    """Return what changes fields of an artifact, without validation."""
    return lambda artifact: artifact.model_copy(update=fields)


def built(monkeypatch: pytest.MonkeyPatch, cache: Path, change: Change) -> Artifact:
    """Return what a build gives whose variant changes its artifact."""
    kind = type(plugins.variant("numpy-attention"))
    build = kind.build
    monkeypatch.setattr(kind, "build", lambda *arguments: change(build(*arguments)))
    return build_case(example_case(), ArtifactCache(cache)).artifact


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda artifact: None, "found NoneType, expected Artifact"),
        (
            changed(case=OTHER),
            f"case.problem: found {OTHER.problem.describe()}, expected that of {example_case().describe()}",
        ),
        (
            changed(metrics=StaticMetrics.model_construct(registers=-1)),
            "metrics.registers: Input should be greater than or equal to 0, found -1",
        ),
        (
            changed(stage_files={"source": "missing.py"}),
            'stage_files.source: found "missing.py", expected a file in the folder that was built into',
        ),
    ],
)
def test_a_mistake_says_the_field(
    change: Change, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(PluginError, match=f"^variant 'numpy-attention': build: {re.escape(message)}$"):
        built(monkeypatch, tmp_path, change)


def test_numpy_s_numbers_are_chosen_as_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = {"tile": np.int64(16), "share": np.float32(0.5), "is_wide": np.bool_(True), "order": "rows"}
    kind = type(plugins.variant("numpy-attention"))
    monkeypatch.setattr(kind, "chosen", lambda self, case: chosen)
    kept = built(monkeypatch, tmp_path, lambda artifact: artifact).chosen
    assert kept == {"tile": 16, "share": 0.5, "is_wide": True, "order": "rows"}
    assert [type(value) for value in kept.values()] == [int, float, bool, str]
