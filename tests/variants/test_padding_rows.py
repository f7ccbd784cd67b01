"""Rows of Q that are only padding may hold anything: what they compute reaches no row that exists."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from mlir import ir
from mlir.dialects import arith, tensor
from sweeps import sweep

from harness import plugins
from harness.codegen.ir.walk import operations_within
from harness.codegen.payloads import attention, packed_attention, padding
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs

POISONS = {"not a number": math.nan, "infinity": math.inf, "a huge number": 6e4}

FEW_QUERIES = AttentionProblem(heads=2, seq_q=5, seq_kv=77, head_dim=32, causal=True)
PACKED = AttentionProblem(heads=2, head_dim=32, cu_seqlens_q=(0, 2, 5), cu_seqlens_kv=(0, 9, 40))
PROJECTED = AttentionProblem(heads=2, seq_q=5, head_dim=32, model_width=48)


def poisoned(value: ir.Value, shape: Sequence[int], poison: float) -> ir.Value:
    """Pad as the payload does, with a poison."""
    padded = padded_with_zeros(value, shape)
    if padded != value:
        pad = padded.owner
        with ir.InsertionPoint(pad), pad.location:
            anything = arith.constant(value.type.element_type, poison)
        for operation in operations_within(pad):
            if operation.name == "tensor.yield":
                operation.operation.operands[0] = anything
    return padded


padded_with_zeros = padding.padded


@pytest.mark.parametrize("poison", sweep(POISONS, but=["not a number"]))
@pytest.mark.parametrize(
    ("variant", "problem"),
    sweep(
        [
            *((variant, FEW_QUERIES) for variant in ("flash", "naive", "unfused")),
            ("varlen", PACKED),
            ("split-head", PROJECTED),
        ],
        but=[("flash", FEW_QUERIES), ("varlen", PACKED), ("split-head", PROJECTED)],
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_that_do_not_exist_may_hold_anything(
    variant: str, problem: AttentionProblem, poison: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = []

    def pad(value: ir.Value, shape: Sequence[int]) -> ir.Value:
        padded.append(list(value.type.shape) != list(shape))
        return poisoned(value, shape, POISONS[poison])

    monkeypatch.setattr(attention, "padded", pad)
    monkeypatch.setattr(packed_attention, "padded", pad)
    monkeypatch.setattr(padding, "padded", pad)
    case = Case(problem=problem, variant=variant, target="cpu")
    artifact = plugins.variant(variant).build(case, "key", tmp_path)
    assert any(padded)
    kernels = (tmp_path / artifact.stage_files["tiled"]).read_text()
    assert tensor.PadOp.OPERATION_NAME in kernels
    inputs = make_inputs(problem)
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    with np.errstate(all="ignore"):
        call.run()
    assert expect(inputs, problem).check(call.output()).ok
