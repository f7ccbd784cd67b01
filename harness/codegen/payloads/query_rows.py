"""Which query a row of scores is, where the heads that share K and V have their queries in one tile."""

from dataclasses import dataclass
from typing import Self

from mlir import ir

from harness.codegen.payloads import attention_steps as steps
from harness.problem.attention_problem import AttentionProblem


@dataclass(frozen=True)
class QueryRows:
    """The rows of a head as it is computed: all queries of one head, then those of the next one."""

    queries: int
    """Queries of a head, as the problem is asked for."""
    heads: int
    """Heads whose queries are rows of one."""

    @classmethod
    def of(cls, problem: AttentionProblem, callers_problem: AttentionProblem) -> Self:
        """Return the rows of a problem as it is computed, where another one is asked for."""
        return cls(callers_problem.seq_q, callers_problem.heads // problem.heads)

    def query(self, row: ir.AffineExpr) -> ir.AffineExpr:
        """Return the number of a row's query in its head; rows that are added may be any query."""
        if self.heads == 1:
            return row
        return ir.AffineConstantExpr.get(0) if self.queries == 1 else ir.AffineExpr.get_mod(row, self.queries)

    def of_heads(self, value: ir.Value) -> ir.Value:
        """Return `[.., rows]` from what each head has, `[.., heads]`."""
        return steps.for_each_query_head(value, self.queries, axis=value.type.rank - 1)
