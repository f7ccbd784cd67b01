"""Artifacts in the cache whose stages are given texts."""

from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.artifact.cache import ArtifactCache
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.reporting.html.stages import LARGEST_TEXT

CASE = Case(problem=AttentionProblem(heads=2, seq_q=64, head_dim=16), variant="flash", target="cpu")
LARGE = "x" * (LARGEST_TEXT + 1)
BINARY = b"\x7fELF\xff\x00"


def store_example(key: str, texts: dict[str, str]) -> dict[str, str]:
    """Put an artifact into the cache: stages of these texts, and a binary one; return the texts."""

    def build(folder: Path) -> Artifact:
        for name, text in texts.items():
            (folder / f"{name}.mlir").write_text(text)
        (folder / "object.o").write_bytes(BINARY)
        files = {**{name: f"{name}.mlir" for name in texts}, "object": "object.o"}
        return Artifact(case=CASE, key=key, executor="native", loader="a:b", stage_files=files)

    ArtifactCache().store(key, build)
    return texts
