"""What an artifact says of itself fits its problem: a plugin's mistake is refused where it is made."""

from typing import Any

import pytest
from pydantic import ValidationError

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

PACKED = AttentionProblem(heads=1, head_dim=8, cu_seqlens_q=(0, 3), cu_seqlens_kv=(0, 3))
SQUARE = AttentionProblem(heads=1, seq_q=3, head_dim=8)


def artifact(problem: AttentionProblem, **fields: Any) -> Artifact:
    case = Case(problem=problem, variant="flash", target="cpu")
    return Artifact(case=case, key="key", executor="native", loader="module:function", **fields)


@pytest.mark.parametrize("fields", [{"page_size": 16}, {"is_padded": True}])
def test_only_packed_sequences_have_pages_or_are_padded(fields: dict[str, Any]) -> None:
    artifact(PACKED, **fields)
    with pytest.raises(ValidationError, match="no sequences are packed"):
        artifact(SQUARE, **fields)


@pytest.mark.parametrize("fields", [{"page_size": 0}, {"ranks": 0}])
def test_counts_are_positive(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        artifact(PACKED, **fields)
