"""Attention as one operation: what it computes, and what it is taken apart into."""

import numpy as np
import pytest
from codegen.rewrites.attention_op import AttentionOp
from codegen.rewrites.execution import close, execute, within
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.attention import take_apart
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.decomposition import decompose


def names(module: ir.Module) -> list[str]:
    """Return the operations of the function that compute something from others."""
    body = module.body.operations[0].regions[0].blocks[0].operations
    ignored = ("arith.constant", "tensor.empty", "linalg.fill", "func.return")
    return [operation.operation.name for operation in body if operation.operation.name not in ignored]


def test_attention_is_a_product_a_softmax_and_a_product() -> None:
    with mlir_context():
        module = AttentionOp().module()
        parts = take_apart(within(module, attn.Attention.NAME)[0])
        assert names(module) == ["attn.batch_matmul", "attn.softmax", "attn.batch_matmul"]
        assert parts.scores.product == parts.softmax.x
        assert parts.softmax.probability == parts.output.lhs


def test_rewrites_go_on_with_what_others_return() -> None:
    """From attention to the k operations of its softmax, with no search between."""
    with mlir_context():
        module = AttentionOp().module()
        parts = take_apart(within(module, attn.Attention.NAME)[0])
        made = decompose(parts.softmax.operation)
        steps = [operation.name for operation in made if operation.name == "linalg.generic"]
        assert names(module) == ["attn.batch_matmul", *steps, "attn.batch_matmul"]
        assert len(steps) == 8


@pytest.mark.parametrize(
    "problem",
    [
        AttentionOp(),
        AttentionOp(leading=(), scale=2.0),
        AttentionOp(bias_axes=(0, 2), mask_axes=(2,)),
        AttentionOp(leading=(2, 3), bias_axes=(3,)),
        AttentionOp(continues=True),
        AttentionOp(continues=True, bias_axes=(1, 2), mask_axes=(0,)),
    ],
)
def test_attention_computes_what_its_definition_says(problem: AttentionOp) -> None:
    inputs = problem.inputs()
    with mlir_context():
        results = execute(problem.module(), inputs)
    for result, expected in zip(results, problem.reference(*inputs), strict=True):
        close(result, expected)


@pytest.mark.parametrize("keys", [1, 3, 6])
def test_attention_that_goes_on_is_attention_over_all_keys(keys: int) -> None:
    whole, inputs = AttentionOp(), AttentionOp().inputs()
    query, key, value = inputs
    first = AttentionOp(keys=keys).reference(query, key[:, :keys], value[:, :keys])
    rest = AttentionOp(keys=whole.keys - keys, continues=True)
    with mlir_context():
        results = execute(rest.module(), [query, key[:, keys:], value[:, keys:], *first])
    for result, expected in zip(results, whole.reference(*inputs), strict=True):
        close(result, expected)
    assert np.isfinite(results[0]).all()
