"""All named schedules, in the order in which they are best read."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mlir import ir
from mlir.dialects import func, linalg

from harness.codegen.dialect.attention import take_apart
from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.decomposition import decompose
from harness.codegen.dialect.operations import Attention
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.payloads.attention import (
    attention_operation,
    multi_head_attention,
    multi_head_attention_with_prologue_projections,
    single_attention,
)
from harness.codegen.payloads.plain_linalg import single_attention_in_linalg
from harness.codegen.rewrites.normalization import softmaxes
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.problem.attention_problem import AttentionProblem
from harness.variants.attention_schedule import (
    ABSORBED_SCALE,
    FINAL_DIVISION,
    products,
    returned,
    to_linalg,
)
from harness.variants.schedule import PAYLOAD, StageRecord, Step, apply, import_rewrites
from harness.variants.upstream_schedule import contractions, fusion, plain_linalg

SLIDES = "slides Linalg Fusion Enhancement"

SMALL = {"batch": 2, "heads": 2, "seq_q": 8, "seq_kv": 12, "head_dim": 4}
"""Two tiles of queries and three of keys, in tiles of 4."""
SMALL_HEAD = {"seq_q": 8, "seq_kv": 12, "head_dim": 4}
SMALL_PROJECTED = {"batch": 2, "heads": 4, "seq": 6, "head_dim": 4, "model_width": 8}

MATMUL_TILES = (2, 3, 4)
NAIVE_TILES, NAIVE_ORDER = [4, 0, 4], [2, 1, 0]
FLASH_TILES = [1, 0, 4, 0, 4]
ROW_TILES, KEY_TILES = [4, 0, 0, 0], [0, 4, 0, 0]
"""Of the loops of `attn.attention` after batch and head: queries, keys, columns of V, columns of Q."""
KEYS_OUTSIDE, QUERIES_OUTSIDE = [0, 1, 4, 3, 2], [0, 1, 2, 3, 4]
HEAD_TILES = [0, 1, 0, 0, 0]

STARTS_AGAIN = (
    "the fill with 0 that the product with V starts from lands inside the loop over key tiles, so that only "
    "the last key tile is left in the output"
)

LINALG = Step("linalg", "upstream dialects only", to_linalg)


@dataclass(frozen=True)
class NamedSchedule:
    """A known form: a payload and the rewrites that turn it into loops over tiles."""

    name: str
    summary: str
    source: str
    payload: Callable[..., ir.Module]
    """Takes the sizes as keywords; an MLIR context is current."""
    sizes: Mapping[str, int]
    """A small problem."""
    steps: tuple[Step, ...]
    why_wrong: str | None = None
    """Why the form computes something else than the payload; None if it does not.  A wrong form is there to
    be looked at, never to be timed."""

    def build(self, **sizes: int) -> ir.Module:
        """Return the payload; sizes that are left out are those of the small problem."""
        return self.payload(**{**self.sizes, **sizes})

    def record_stages(self, **sizes: int) -> StageRecord:
        """Return the IR of each stage, payload first, and how long it took, imports left out."""
        import_rewrites()
        record = StageRecord()
        with mlir_context():
            started = time.perf_counter()
            module = self.build(**sizes)
            record.note(PAYLOAD.name, started, module)
            apply(self.steps, module, record)
        return record


def _matmul(*, rows: int, depth: int, columns: int) -> ir.Module:
    """Return `@matmul(A, B, C) -> A · B + C`, to be computed into C."""
    module = ir.Module.create()
    types = [b.tensor_type(shape, "f32") for shape in ((rows, depth), (depth, columns), (rows, columns))]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("matmul", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            left, right, accumulator = function.arguments
            func.ReturnOp([linalg.matmul(left, right, outs=[accumulator])])
    return module


def _one_head(**sizes: int) -> ir.Module:
    return single_attention(AttentionProblem(heads=1, **sizes))


def _one_head_in_linalg(**sizes: int) -> ir.Module:
    return single_attention_in_linalg(AttentionProblem(heads=1, **sizes))


def _heads(**sizes: int) -> ir.Module:
    return multi_head_attention(AttentionProblem(**sizes))


def _projected(*, seq: int, **sizes: int) -> ir.Module:
    return multi_head_attention_with_prologue_projections(AttentionProblem(seq_q=seq, seq_kv=seq, **sizes))


def _made(value: ir.Value) -> ir.OpView:
    return ir.OpResult(value).owner.opview


def _tile_matmul(module: ir.Module) -> None:
    tile_and_fuse(_made(returned(functions_of(module)[0])[0]), MATMUL_TILES)


def _naive(name: str, summary: str, source: str, *, init_outside: bool, why_wrong: str = "") -> NamedSchedule:
    """Return what upstream tile-and-fuse makes of one head: key tiles recompute whole rows of scores."""

    def tile(module: ir.Module) -> None:
        stored = _made(returned(functions_of(module)[0])[0])
        options = TileOptions(init_outside=init_outside)
        tile_and_fuse(_made(stored.operands[0]), NAIVE_TILES, NAIVE_ORDER, options=options)

    steps = (
        ABSORBED_SCALE,
        Step("plain-linalg", "maximum, exponential, sum, quotient as linalg", plain_linalg),
        Step("tiled", "key tiles outside of query tiles", tile),
        LINALG,
    )
    tiling = f"{SLIDES}, tile {NAIVE_TILES}, interchange {NAIVE_ORDER}"
    return NamedSchedule(name, summary, tiling + source, _one_head, SMALL_HEAD, steps, why_wrong or None)


def _upstream(name: str, summary: str, *, keeps_fill: bool, why_wrong: str | None = None) -> NamedSchedule:
    """Return what upstream's own tile-and-fuse makes of one head in plain linalg."""
    return NamedSchedule(
        name,
        summary,
        f"MLIR's transform.structured.fuse; {SLIDES}, tile {NAIVE_TILES}, interchange {NAIVE_ORDER}",
        _one_head_in_linalg,
        SMALL_HEAD,
        (*fusion(_last_product, NAIVE_TILES, NAIVE_ORDER, keeps_fill=keeps_fill), LINALG),
        why_wrong,
    )


def _flash_in_linalg() -> NamedSchedule:
    """Return what consumer rewriting makes of one head in plain linalg: no operation says softmax."""

    def tile(module: ir.Module) -> None:
        options = TileOptions(carries_reductions=True)
        tile_and_fuse(_last_product(module), NAIVE_TILES, [0, 1, 2], options=options)

    tiled = Step("tiled", f"tile {NAIVE_TILES}; the key loop carries maximum, sum and output", tile)
    return NamedSchedule(
        "flash-from-linalg",
        "queries outside, keys inside; the softmax is plain linalg, whose reductions depend on each other",
        "consumer rewriting, for any reductions whose terms have a factor of those before",
        _one_head_in_linalg,
        SMALL_HEAD,
        (tiled, LINALG),
    )


def _attention_operation() -> NamedSchedule:
    """Return attention as one operation, tiled as such and then taken apart."""

    def attentions(module: ir.Module) -> list[ir.OpView]:
        return [op for op in operations_within(module.operation) if op.operation.name == Attention.NAME]

    def tile_rows(module: ir.Module) -> None:
        tile_and_fuse(attentions(module)[0], [1, 1, *ROW_TILES])

    def tile_keys(module: ir.Module) -> None:
        tile_and_fuse(attentions(module)[0], [0, 0, *KEY_TILES], options=TileOptions(peels_rest=True))

    def take_all_apart(module: ir.Module) -> None:
        for operation in attentions(module):
            take_apart(operation)

    def decompose_softmaxes(module: ir.Module) -> None:
        for operation in softmaxes(module):
            decompose(operation)

    steps = (
        Step("query-tiles", "loops over batch, head and query tiles of the operation", tile_rows),
        Step("key-tiles", "the operation on key tiles goes on from output, maximum and total", tile_keys),
        Step("products-and-softmax", "a product, a softmax, a product", take_all_apart),
        Step("softmax-as-linalg", "the softmax in its linalg operations", decompose_softmaxes),
        LINALG,
    )
    source = "pull request Add flash attention forward op, to IREE: tiled as an operation, then taken apart"
    summary = "attention as one operation: tiled as such, then a product, a softmax and a product"
    return NamedSchedule("attention-operation", summary, source, _attention_as_operation, SMALL, steps)


def _attention_as_operation(**sizes: int) -> ir.Module:
    return attention_operation(AttentionProblem(**sizes))


def _last_product(module: ir.Module) -> ir.OpView:
    return contractions(module)[-1]


def _flash(name: str, summary: str, source: str, order: Sequence[int], *before: Step) -> NamedSchedule:
    """Return a FlashAttention-style form: the loop over key tiles carries maximum, total and output."""

    def tile(module: ir.Module) -> None:
        tile_and_fuse(products(module)[-1], FLASH_TILES, order)

    tiled = Step("tiled", f"tile {FLASH_TILES}, interchange {order}", tile)
    return NamedSchedule(name, summary, source, _heads, SMALL, (ABSORBED_SCALE, *before, tiled, LINALG))


def _projections(name: str, summary: str, form: str, *, shares_keys: bool) -> NamedSchedule:
    def tile(module: ir.Module) -> None:
        _, key, value, _, root = products(module)
        tile_and_fuse(root, HEAD_TILES, stop=[key, value] if shares_keys else [])

    outside = ", the projections of K and V outside" if shares_keys else ""
    return NamedSchedule(
        name,
        summary,
        f"{SLIDES}{form}, tile {HEAD_TILES}",
        partial(_projected, kv_heads=1) if shares_keys else _projected,
        SMALL_PROJECTED,
        (ABSORBED_SCALE, Step("tiled", f"tile {HEAD_TILES}{outside}", tile), LINALG),
    )


SCHEDULES: dict[str, NamedSchedule] = {
    schedule.name: schedule
    for schedule in (
        NamedSchedule(
            "matmul",
            "three loops, a slice of each operand, one product on tiles, one insertion",
            f"forum post Transformations on Linalg on Tensors, tile {list(MATMUL_TILES)}",
            _matmul,
            {"rows": 16, "depth": 1024, "columns": 33},
            (Step("tiled", f"tile {list(MATMUL_TILES)}", _tile_matmul), LINALG),
        ),
        _naive(
            "naive-published",
            "recomputes score rows and starts again from 0 for each key tile, as printed in its source",
            "",
            init_outside=False,
            why_wrong=STARTS_AGAIN,
        ),
        _naive(
            "naive",
            "recomputes whole rows of scores for each key tile; the output starts from 0 once",
            ", with its init rule",
            init_outside=True,
        ),
        _upstream(
            "upstream-fuse-published",
            "MLIR's own tile-and-fuse: recomputes score rows and starts again from 0 for each key tile",
            keeps_fill=True,
            why_wrong=STARTS_AGAIN,
        ),
        _upstream(
            "upstream-fuse",
            "MLIR's own tile-and-fuse, of an initial value that it does not fuse: recomputes score rows",
            keeps_fill=False,
        ),
        _flash(
            "flash-kv-outer",
            "keys outside, queries inside; after each key tile the output is exact for the keys so far",
            f"{SLIDES}, tile {FLASH_TILES}, interchange {KEYS_OUTSIDE}",
            KEYS_OUTSIDE,
        ),
        _flash(
            "flash-q-outer",
            "queries outside, keys inside; after each key tile the output is exact for the keys so far",
            f"the rewriting of the {SLIDES}, in the loop order of FlashAttention 2",
            QUERIES_OUTSIDE,
        ),
        _flash(
            "flash-final-division",
            "queries outside, keys inside; the output is divided once, after the last key tile",
            "FlashAttention 2 (Dao 2023)",
            QUERIES_OUTSIDE,
            FINAL_DIVISION,
        ),
        _flash_in_linalg(),
        _attention_operation(),
        _projections(
            "split-head",
            "one loop over heads, with the projections' weight columns of those heads inside",
            " (Megatron-style)",
            shares_keys=False,
        ),
        _projections(
            "multi-query",
            "one loop over heads; one head of K and V for all, projected outside",
            ", multi-query form",
            shares_keys=True,
        ),
    )
}
