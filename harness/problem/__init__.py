"""What is to be computed: problems, cases, dtypes, inputs.  Nothing in here knows MLIR."""

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

__all__ = ["AttentionProblem", "Case"]
