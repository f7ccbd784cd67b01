"""Tiny cases and experiments over the variants of the example distribution."""

from typing import Any

from harness.bench.row_maker import CaseRecord
from harness.experiment.experiment import Experiment
from harness.oracle.expected import Verdict
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

PROBLEM = AttentionProblem(heads=2, seq_q=16, head_dim=8)


def example_case(variant: str = "numpy-attention", **params: int) -> Case:
    """A case of the target `numpy`."""
    return Case(problem=PROBLEM, variant=variant, target="numpy", params=dict(params))


def accepted_record(case: Case, error_ratio: float = 0.25, **known: Any) -> CaseRecord:
    """What is known of a case whose output the oracle has accepted."""
    record = CaseRecord(case, **known)
    verdict = Verdict(ok=True, max_abs_error=1e-7, error_ratio=error_ratio, tolerance=4e-7)
    record.note_verdict(verdict, "normal")
    return record


def example_experiment(variants: list[str], **sections: Any) -> Experiment:
    """An experiment of one problem, with short limits and short timing."""
    settings: dict[str, Any] = {
        "name": "tiny",
        "question": "What becomes of each case?",
        "targets": ["numpy"],
        "variants": variants,
        "problem": {"seq": PROBLEM.seq_q, "heads": PROBLEM.heads, "head_dim": PROBLEM.head_dim},
        "timing": {"min_sample_s": 1e-5, "min_rounds": 4, "max_rounds": 4, "starts": 2, "budget_s": 60.0},
    }
    return Experiment.model_validate({**settings, **sections})
