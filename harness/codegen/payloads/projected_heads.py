"""The payload of heads that are projected where attention needs them, or before by kernels of their own.

Either is a product with the weights of one head, seen as `[model_width, heads, width]`.  What a kernel of its
own computes attention reads from memory; what is projected in attention's kernel is fused there as any
producer is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlir import ir
from mlir.dialects import func, linalg

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.payloads import attention_steps as steps
from harness.codegen.payloads.arguments import (
    KEEPS_TILES,
    PROJECTION,
    KernelArgument,
    attention_arguments,
    output_arguments,
    output_projection_arguments,
    projection_arguments,
    score_arguments,
)
from harness.codegen.payloads.attention import (
    attention_of,
    count_outputs,
    multi_head_attention_with_prologue_projections,
    operand_shapes,
    payload_function,
)
from harness.codegen.payloads.padded_sizes import PaddedSizes, ProjectedWidths
from harness.codegen.payloads.padding import padded, unpadded
from harness.problem.attention_problem import AttentionProblem

PROJECTED = ("query", "key", "value")
"""What is projected, in the order of attention's arguments."""

KEPT = ("key", "value")
"""What is projected once for all queries of a head."""


def projected_heads(
    problem: AttentionProblem,
    sizes: PaddedSizes,
    widths: ProjectedWidths,
    before: Sequence[str],
    *,
    keeps_heads: bool = False,
) -> ir.Module:
    """Return a kernel for each projection that comes before, such as `@project_key`, then `@attention`, and
    `@project_output` where the output is projected.

    Each projection is `@project_key(X[b,s,w], W[w,h·d], P[b,h,s,d]) -> P`, of the heads of Q, or of K and V,
    which are not repeated for the query heads that share one.  P is a workspace in the dtype of the inputs.

    Args:
        problem: with a `model_width` w.
        sizes: what is computed, where that is more than the problem has.
        widths: likewise, of X, of joined heads and of the projected output.
        before: which of `PROJECTED` have a kernel of their own.
        keeps_heads: whether a workgroup keeps K and V of a head, in the dtype of the inputs.
    """
    projections = _projections(problem, sizes, widths.model, KEPT if keeps_heads else ())
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for name in before:
            _add_kernel(projections[name], sizes.queries)
        attention = _add_attention(problem, projections, before)
        if keeps_heads:
            attention.attributes[KEEPS_TILES] = ir.UnitAttr.get()
        if problem.output_projection:
            add_output_projection(problem, sizes.queries, widths)
    return module


def heads_projected_inside(
    problem: AttentionProblem, sizes: PaddedSizes, widths: ProjectedWidths
) -> ir.Module:
    """Return attention with the projections of its inputs as a part of it, then `@project_output` where the
    output is projected."""
    module = multi_head_attention_with_prologue_projections(problem, sizes)
    if problem.output_projection:
        with ir.InsertionPoint(module.body):
            add_output_projection(problem, sizes.queries, widths)
    return module


def add_output_projection(problem: AttentionProblem, rows: int, widths: ProjectedWidths) -> None:
    """Add `@project_output(Z[b,s,h·e], Wo[h·e,w], O[b,s,w]) -> O`, of heads that lie side by side in Z.

    Args:
        problem: with an output projection.
        rows: tokens that are computed at least.
        widths: columns that are computed, where that is more than there are.
    """
    arguments = output_projection_arguments(problem)
    body = payload_function(f"{PROJECTION}output", arguments)
    batch, tokens, _ = problem.output_shape
    rows = max(rows, tokens)
    joined, columns = widths.joined, widths.output
    with ir.InsertionPoint(body):
        heads, weights, output = body.arguments
        wide = steps.widened(padded(heads, (batch, rows, joined)))
        matrix = steps.widened(padded(weights, (joined, columns)))
        repeated = linalg.broadcast(matrix, outs=[b.empty([batch, joined, columns])], dimensions=[0])
        zeros = b.filled(0.0, [batch, rows, columns])
        product = attn.batch_matmul(wide, steps.result_of(repeated), zeros, "nn").product
        func.ReturnOp([steps.stored(unpadded(product, problem.dtype, problem.output_shape), output)])


def heads_only(problem: AttentionProblem) -> AttentionProblem:
    """Return the problem between its projections: of Q, K and V as they are projected."""
    return problem.model_copy(update={"model_width": None, "output_projection": False})


@dataclass(frozen=True)
class _Projection:
    """One projection of tokens to heads."""

    name: str
    tokens: KernelArgument
    weights: KernelArgument
    """`[model_width, heads, width]`."""
    workspace: KernelArgument
    """`[batch, heads, tokens, width]`."""
    shape: tuple[int, ...]
    """What attention takes of the heads, likewise."""
    depth: int
    """Columns of tokens that are computed."""
    is_kept: bool
    """Whether heads that are projected where they are needed are kept in the dtype of the inputs."""

    def of(self, tokens: ir.Value, weights: ir.Value, rows: int) -> ir.Value:
        """Return the heads that so many tokens are projected to, in f32."""
        batch, heads, _, columns = self.shape
        wide = steps.widened(padded(tokens, (batch, rows, self.depth)))
        matrix = steps.widened(padded(weights, (self.depth, heads, columns)))
        of_heads = linalg.transpose(
            matrix, outs=[b.empty([heads, self.depth, columns])], permutation=[1, 0, 2]
        )
        of_batch = linalg.broadcast(
            steps.result_of(of_heads), outs=[b.empty([batch, heads, self.depth, columns])], dimensions=[0]
        )
        of_tokens = linalg.broadcast(wide, outs=[b.empty([batch, heads, rows, self.depth])], dimensions=[1])
        zeros = b.filled(0.0, [batch, heads, rows, columns])
        product = attn.batch_matmul(
            steps.result_of(of_tokens), steps.result_of(of_batch), zeros, "nn"
        ).product
        return steps.narrowed(product, self.workspace.dtype) if self.is_kept else product


def _projections(
    problem: AttentionProblem, sizes: PaddedSizes, model_width: int, kept: Sequence[str]
) -> dict[str, _Projection]:
    tokens, *weights = projection_arguments(problem)[: 1 + len(PROJECTED)]
    plain = heads_only(problem)
    projections = {}
    for argument, weight, shape in zip(
        attention_arguments(plain)[: len(PROJECTED)], weights, operand_shapes(plain, sizes), strict=True
    ):
        _, heads, _, width = argument.shape
        by_head = replace(
            weight,
            dimensions=("model", "head", "width"),
            shape=(weight.shape[0], heads, width),
            given_shape=weight.shape,
        )
        workspace = replace(
            argument, buffer=f"projected_{argument.buffer}", free_layout=True, given_shape=None
        )
        projections[argument.buffer] = _Projection(
            argument.buffer, tokens, by_head, workspace, shape, model_width, argument.buffer in kept
        )
    return projections


def _add_kernel(projection: _Projection, rows: int) -> None:
    place = projection.workspace
    body = payload_function(f"{PROJECTION}{projection.name}", [projection.tokens, projection.weights, place])
    with ir.InsertionPoint(body):
        tokens, weights, output = body.arguments
        heads = projection.of(tokens, weights, max(rows, place.shape[2]))
        func.ReturnOp([steps.stored(unpadded(heads, place.dtype, place.shape), output)])


def _add_attention(
    problem: AttentionProblem, projections: dict[str, _Projection], before: Sequence[str]
) -> func.FuncOp:
    plain = heads_only(problem)
    fused = [projection for name, projection in projections.items() if name not in before]
    inputs = [
        *([fused[0].tokens] if fused else []),
        *(projection.weights for projection in fused),
        *(projections[name].workspace for name in before),
    ]
    arguments = [*inputs, *score_arguments(plain), *output_arguments(problem, problem)]
    body = payload_function("attention", arguments, count_outputs(plain))
    values = dict(zip((argument.buffer for argument in arguments), body.arguments, strict=True))
    with ir.InsertionPoint(body):
        operands = [
            steps.widened(padded(values[projection.workspace.buffer], projection.shape))
            if name in before
            else steps.widened(
                projection.of(
                    values[projection.tokens.buffer], values[projection.weights.buffer], projection.shape[2]
                )
            )
            for name, projection in projections.items()
        ]
        after = list(body.arguments)[len(inputs) :]
        count = count_outputs(plain)
        func.ReturnOp(attention_of(plain, operands, after[:-count], after[-count:]))
    return body.owner
