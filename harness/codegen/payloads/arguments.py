"""Function arguments of payloads and kernels, and attributes by which rewrites and targets know things."""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func

from harness.problem.attention_problem import SCORE_AXES, AttentionProblem
from harness.problem.dtypes import BOOLEAN
from harness.problem.outputs import LOG_SUM_EXP, OUTPUT
from harness.problem.pages import PageRoom

BUFFER = "harness.buffer"
"""Argument attribute: which buffer this is, `query`, `key`, `value`, `output` or a workspace."""

DIMENSIONS = "harness.dimensions"
"""Argument attribute: the name of each dimension; a target decides by it what goes into vector lanes."""

GIVEN_SHAPE = "harness.given_shape"
"""Argument attribute: the shape of the caller's array in the same memory, where it is another one."""

WORKSPACE = "harness.workspace"
"""Argument attribute: scratch memory between kernels in the order of its dimensions."""

FREE_LAYOUT = "harness.free_layout"
"""Argument attribute: scratch memory between kernels, which a target may store in any dimension order."""

KEEPS_TILES = "harness.keeps_tiles"
"""Attribute of a function: a workgroup keeps tensors of many tiles, which its memory has room for."""

LEAST_ROWS = "harness.least_rows"
"""Argument attribute: the caller's array may have fewer rows than the shape; as many as this are touched."""

UNDOES_PADDING = "harness.undoes_padding"
"""Attribute of an extract_slice that takes padding away again: tiling computes the padding with the rest,
which is the point of padding to the size of a tile."""


PROJECTION = "project_"
"""What names of kernels begin with that project something, which follows."""

ATTENDED = "attended"
"""The workspace between attention and the projection of its output."""

AXIS_NAMES = dict(zip(SCORE_AXES, ("batch", "head", "query", "key"), strict=True))


@dataclass(frozen=True)
class KernelArgument:
    """A tensor that a kernel reads or writes."""

    buffer: str
    dimensions: tuple[str, ...]
    """Among them `query`, the dimension that is tiled over the grid."""
    shape: tuple[int, ...]
    dtype: str
    is_workspace: bool = False
    """Whether it is scratch memory between kernels in the order of its dimensions."""
    free_layout: bool = False
    """Whether it is scratch memory between kernels in any order."""
    given_shape: tuple[int, ...] | None = None
    least_rows: int | None = None
    """Rows that are touched however few the caller's array has; None: it has as many as the shape says."""

    def attributes(self) -> ir.DictAttr:
        """Return the function-argument attributes that carry this to the target."""
        attributes: dict[str, ir.Attribute] = {
            BUFFER: ir.StringAttr.get(self.buffer),
            DIMENSIONS: ir.ArrayAttr.get([ir.StringAttr.get(name) for name in self.dimensions]),
        }
        if self.is_workspace:
            attributes[WORKSPACE] = ir.UnitAttr.get()
        if self.free_layout:
            attributes[FREE_LAYOUT] = ir.UnitAttr.get()
        if self.given_shape not in (None, self.shape):
            attributes[GIVEN_SHAPE] = ir.DenseI64ArrayAttr.get(self.given_shape)
        if self.least_rows is not None:
            attributes[LEAST_ROWS] = ir.IntegerAttr.get(ir.IndexType.get(), self.least_rows)
        return ir.DictAttr.get(attributes)


def arguments_by_buffer(function: func.FuncOp) -> dict[str, ir.Value]:
    """Return a kernel's arguments by the names of their buffers."""
    names = [ir.StringAttr(ir.DictAttr(own)[BUFFER]).value for own in function.arg_attrs]
    return dict(zip(names, function.arguments, strict=True))


def is_projection(function: ir.OpView) -> bool:
    """Whether a kernel is the projection of something."""
    return function.name.value.startswith(PROJECTION)


def is_workspace(attributes: ir.DictAttr) -> bool:
    """Whether an argument with these attributes is scratch memory between kernels."""
    return WORKSPACE in attributes or FREE_LAYOUT in attributes


def attention_arguments(
    problem: AttentionProblem, callers_problem: AttentionProblem | None = None
) -> list[KernelArgument]:
    """Return Q, K, V, what scores are changed by, and the outputs.

    `callers_problem` is the problem whose arrays callers have, if it is another one.
    """
    callers_problem = callers_problem or problem
    query = ("batch", "head", "query", "width")
    key = ("batch", "head", "key", "width")
    return [
        KernelArgument("query", query, problem.q_shape, problem.dtype, given_shape=callers_problem.q_shape),
        KernelArgument("key", key, problem.k_shape, problem.dtype),
        KernelArgument("value", key, problem.v_shape, problem.dtype),
        *score_arguments(problem, callers_problem),
        *output_arguments(problem, callers_problem),
    ]


def output_arguments(problem: AttentionProblem, callers_problem: AttentionProblem) -> list[KernelArgument]:
    """Return O and, where it is asked for, the log-sum-exp of rows: what kernels of batches write."""
    rows = ("batch", "head", "query")
    output = KernelArgument(
        OUTPUT,
        (*rows, "width"),
        problem.attended_shape,
        problem.dtype,
        given_shape=callers_problem.output_shape,
    )
    if problem.output_projection:
        output = _attended(problem)
    if not problem.log_sum_exp:
        return [output]
    shape = problem.log_sum_exp_shape
    return [
        output,
        KernelArgument(LOG_SUM_EXP, rows, shape, "f32", given_shape=callers_problem.log_sum_exp_shape),
    ]


def _attended(problem: AttentionProblem) -> KernelArgument:
    """Return where heads leave what is then projected: the heads of a token side by side.

    Where there is one head or one token, the head comes first, which is the same memory: see
    `packed_arguments`.
    """
    batch, heads, queries, width = problem.attended_shape
    if 1 in (heads, queries):
        dimensions = ("batch", "head", "query", "width")
        return KernelArgument(ATTENDED, dimensions, problem.attended_shape, problem.dtype, is_workspace=True)
    dimensions, shape = ("batch", "query", "head", "width"), (batch, queries, heads, width)
    return KernelArgument(ATTENDED, dimensions, shape, problem.dtype, is_workspace=True)


def output_projection_arguments(problem: AttentionProblem) -> list[KernelArgument]:
    """Return the joined heads, the weights and O of the output's projection.

    As among `projection_arguments` none of the dimensions is named `query`.
    """
    batch, heads, queries, width = problem.attended_shape
    columns, dtype = problem.output_shape[-1], problem.dtype
    joined, rows = heads * width, ("batch", "token")
    return [
        KernelArgument(ATTENDED, (*rows, "width"), (batch, queries, joined), dtype, is_workspace=True),
        KernelArgument("output_weights", ("width", "column"), (joined, columns), dtype),
        KernelArgument(OUTPUT, (*rows, "column"), problem.output_shape, dtype),
    ]


def score_arguments(
    problem: AttentionProblem, callers_problem: AttentionProblem | None = None
) -> list[KernelArgument]:
    """Return the boolean mask, the bias, the key lengths and the sinks that a problem has.

    Mask and bias have no dimension along which all is the same, so that nothing is copied for it.
    `callers_problem` is the problem whose arrays callers have, if it is another one.
    """
    callers_problem = callers_problem or problem
    arguments = []
    for buffer, axes, shape, dtype, given_shape in (
        ("mask", problem.mask_axes, problem.mask_shape, BOOLEAN, callers_problem.mask_shape),
        ("bias", problem.bias_axes, problem.bias_shape, problem.dtype, callers_problem.bias_shape),
    ):
        if getattr(problem, buffer):
            sizes = dict(zip(SCORE_AXES, shape, strict=True))
            dimensions = tuple(AXIS_NAMES[axis] for axis in axes)
            kept = tuple(sizes[axis] for axis in axes)
            arguments.append(KernelArgument(buffer, dimensions, kept, dtype, given_shape=given_shape))
    if problem.kv_lengths is not None:
        arguments.append(KernelArgument("kv_lengths", ("batch",), (problem.batch,), "i32"))
    return arguments + sink_arguments(problem, callers_problem)


def sink_arguments(
    problem: AttentionProblem, callers_problem: AttentionProblem | None = None
) -> list[KernelArgument]:
    """Return the logit of each head that joins the softmax's sum, if a problem has any.

    A head with the queries of several heads has several: `callers_problem` is the problem whose heads these
    are.
    """
    callers_problem = callers_problem or problem
    if not problem.sinks:
        return []
    if callers_problem.heads == problem.heads:
        return [KernelArgument("sinks", ("head",), (problem.heads,), problem.dtype)]
    shape = (problem.heads, callers_problem.heads // problem.heads)
    dimensions = ("head", "query" if callers_problem.seq_q == 1 else "group")
    return [KernelArgument("sinks", dimensions, shape, problem.dtype, given_shape=(callers_problem.heads,))]


def packed_arguments(
    problem: AttentionProblem, pages: PageRoom | None = None, tiles: tuple[int, int] | None = None
) -> list[KernelArgument]:
    """Return Q, K, V, the cumulative lengths, sinks that the problem has, and outputs of packed sequences.

    With `pages` K and V are pools, and what finds keys there stands for their lengths.  There may be fewer
    tokens and sequences than shapes say: kernels touch no more than there are, but for a tile of queries or
    keys; without `tiles` they touch all.

    One head comes before its tokens in O, which is the same memory: MLIR's fold of a write into a slice
    that lacks a dimension of size 1 takes it for the first one, whichever it is.
    """
    query, key = ("query", "head", "width"), ("key", "head", "width")
    queries, keys = problem.q_shape[0], problem.k_shape[0]
    numbers = {"cu_seqlens_q": problem.batch + 1, "cu_seqlens_kv": problem.batch + 1}
    if pages is not None:
        keys, numbers = pages.pool_tokens, {"cu_seqlens_q": problem.batch + 1, **pages.indices()}
    least_q, least_kv = queries, keys
    if tiles is not None:
        least_q, least_kv = min(tiles[0], queries), min(tiles[1], keys) if pages is None else 1
    return [
        KernelArgument("query", query, problem.q_shape, problem.dtype, least_rows=least_q),
        KernelArgument("key", key, (keys, *problem.k_shape[1:]), problem.dtype, least_rows=least_kv),
        KernelArgument("value", key, (keys, *problem.v_shape[1:]), problem.dtype, least_rows=least_kv),
        *(
            KernelArgument(name, ("sequence",), (count,), "i32", least_rows=count)
            for name, count in numbers.items()
        ),
        *sink_arguments(problem),
        *_packed_outputs(problem, least_q),
    ]


def _packed_outputs(problem: AttentionProblem, least_rows: int) -> list[KernelArgument]:
    shape, dimensions = problem.output_shape, ("query", "head", "width")
    own_shape = shape
    if problem.heads == 1:
        own_shape, dimensions = (1, shape[0], shape[2]), ("head", "query", "width")
    output = KernelArgument(
        OUTPUT, dimensions, own_shape, problem.dtype, given_shape=shape, least_rows=least_rows
    )
    if not problem.log_sum_exp:
        return [output]
    return [output, KernelArgument(LOG_SUM_EXP, ("head", "query"), problem.log_sum_exp_shape, "f32")]


def projection_arguments(problem: AttentionProblem) -> list[KernelArgument]:
    """Return X, the three weight matrices, what scores are changed by, and outputs, of projections.

    The rows of X are queries and keys alike, so none of its dimensions is named `query`.
    """
    width = problem.model_width
    if width is None:
        raise ValueError("the problem has no model_width, and so no projections")
    columns = {
        "query_weights": problem.heads * problem.head_dim,
        "key_weights": problem.kv_heads * problem.head_dim,
        "value_weights": problem.kv_heads * problem.head_dim_v,
    }
    tokens = (problem.batch, problem.seq_q, width)
    return [
        KernelArgument("tokens", ("batch", "token", "width"), tokens, problem.dtype),
        *(
            KernelArgument(name, ("width", "column"), (width, count), problem.dtype)
            for name, count in columns.items()
        ),
        *score_arguments(problem),
        *output_arguments(problem, problem),
    ]
