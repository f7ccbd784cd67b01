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
    single_attention_of_any_length,
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
POST = "forum post Transformations on Linalg on Tensors"

SMALL = {"batch": 2, "heads": 2, "seq_q": 8, "seq_kv": 12, "head_dim": 4}
"""Two tiles of queries and three of keys, in tiles of 4."""
SMALL_HEAD = {"seq_q": 8, "seq_kv": 12, "head_dim": 4}
SMALL_PROJECTED = {"batch": 2, "heads": 4, "seq": 6, "head_dim": 4, "model_width": 8}

MATMUL_TILES = {"tile_rows": 2, "tile_columns": 3, "tile_depth": 4}
NAIVE_TILES, NAIVE_ORDER = {"tile_q": 4, "tile_kv": 4}, [2, 1, 0]
FLASH_TILES = {"tile_batch": 1, "tile_q": 4, "tile_kv": 4}
KEYS_OUTSIDE, QUERIES_OUTSIDE = [0, 1, 4, 3, 2], [0, 1, 2, 3, 4]
HOISTED, AS_PRINTED = TileOptions(), TileOptions(carries_whole=True)

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
    """Takes the sizes of a problem as keywords; an MLIR context is current."""
    problem: Mapping[str, int]
    """A small problem."""
    tiles: Mapping[str, int]
    """Tiles of it, as in its source where that has them."""
    steps_of: Callable[..., tuple[Step, ...]]
    """Takes the sizes of tiles as keywords."""
    why_wrong: str | None = None
    """Why the form computes something else than the payload; None if it does not.  A wrong form is there to
    be looked at, never to be timed."""

    @property
    def sizes(self) -> dict[str, int]:
        """All that can be set: sizes of the problem and of tiles."""
        return {**self.problem, **self.tiles}

    def steps(self, **sizes: int) -> tuple[Step, ...]:
        """Return the steps; sizes that are left out are those of the small problem, as for `build`."""
        return self.steps_of(**{name: sizes.get(name, size) for name, size in self.tiles.items()})

    def build(self, **sizes: int) -> ir.Module:
        """Return the payload."""
        return self.payload(**{name: sizes.get(name, size) for name, size in self.problem.items()})

    def record_stages(self, **sizes: int) -> StageRecord:
        """Return the IR of each stage, payload first, and how long it took, imports left out."""
        import_rewrites()
        record = StageRecord()
        with mlir_context():
            started = time.perf_counter()
            module = self.build(**sizes)
            record.note(PAYLOAD.name, started, module)
            apply(self.steps(**sizes), module, record)
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


def _one_head_of_any_length(**sizes: int) -> ir.Module:
    return single_attention_of_any_length(AttentionProblem(heads=1, seq_q=1, **sizes))


def _one_head_in_linalg(**sizes: int) -> ir.Module:
    return single_attention_in_linalg(AttentionProblem(heads=1, **sizes))


def _heads(**sizes: int) -> ir.Module:
    return multi_head_attention(AttentionProblem(**sizes))


def _projected(*, seq: int, **sizes: int) -> ir.Module:
    return multi_head_attention_with_prologue_projections(AttentionProblem(seq_q=seq, seq_kv=seq, **sizes))


def _made(value: ir.Value) -> ir.OpView:
    return ir.OpResult(value).owner.opview


def _product(name: str, summary: str, form: str = "", options: TileOptions = HOISTED) -> NamedSchedule:
    """Return three loops around a product of two matrices."""

    def steps(*, tile_rows: int, tile_columns: int, tile_depth: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            root = _made(returned(functions_of(module)[0])[0])
            tile_and_fuse(root, [tile_rows, tile_columns, tile_depth], options=options)

        return Step("tiled", "rows, columns, depth", tile), LINALG

    problem = {"rows": 16, "depth": 1024, "columns": 33}
    return NamedSchedule(name, summary, f"{POST}{form}", _matmul, problem, MATMUL_TILES, steps)


def _naive(name: str, summary: str, source: str, *, init_outside: bool, why_wrong: str = "") -> NamedSchedule:
    """Return what upstream tile-and-fuse makes of one head: key tiles recompute whole rows of scores."""

    def steps(*, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            stored = _made(returned(functions_of(module)[0])[0])
            options = TileOptions(init_outside=init_outside)
            tile_and_fuse(_made(stored.operands[0]), [tile_q, 0, tile_kv], NAIVE_ORDER, options=options)

        return (
            ABSORBED_SCALE,
            Step("plain-linalg", "maximum, exponential, sum, quotient as linalg", plain_linalg),
            Step("tiled", "key tiles outside of query tiles", tile),
            LINALG,
        )

    tiling = f"{SLIDES}, interchange {NAIVE_ORDER}"
    return NamedSchedule(
        name, summary, tiling + source, _one_head, SMALL_HEAD, NAIVE_TILES, steps, why_wrong or None
    )


def _upstream(name: str, summary: str, *, keeps_fill: bool, why_wrong: str | None = None) -> NamedSchedule:
    """Return what upstream's own tile-and-fuse makes of one head in plain linalg."""

    def steps(*, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        fused = fusion(_last_product, [tile_q, 0, tile_kv], NAIVE_ORDER, keeps_fill=keeps_fill)
        return (*fused, LINALG)

    source = f"MLIR's transform.structured.fuse; {SLIDES}, interchange {NAIVE_ORDER}"
    return NamedSchedule(
        name, summary, source, _one_head_in_linalg, SMALL_HEAD, NAIVE_TILES, steps, why_wrong
    )


def _flash_in_linalg() -> NamedSchedule:
    """Return what consumer rewriting makes of one head in plain linalg: no operation says softmax."""

    def steps(*, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            options = TileOptions(carries_reductions=True)
            tile_and_fuse(_last_product(module), [tile_q, 0, tile_kv], [0, 1, 2], options=options)

        return Step("tiled", "the key loop carries maximum, sum and output", tile), LINALG

    return NamedSchedule(
        "flash-from-linalg",
        "queries outside, keys inside; the softmax is plain linalg, whose reductions depend on each other",
        "consumer rewriting, for any reductions whose terms have a factor of those before",
        _one_head_in_linalg,
        SMALL_HEAD,
        NAIVE_TILES,
        steps,
    )


def _flash_of_any_length() -> NamedSchedule:
    """Return consumer rewriting of one head, of which only a call tells how many queries and keys it has."""

    def steps(*, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            tile_and_fuse(products(module)[-1], [tile_q, 0, tile_kv])

        return ABSORBED_SCALE, Step("tiled", "last tiles are as small as they have to be", tile), LINALG

    return NamedSchedule(
        "flash-any-length",
        "queries outside, keys inside; only a call tells how many there are",
        f"{SLIDES}, dynamic shapes: sizes are taken from where a tensor lies, not from what computes it",
        _one_head_of_any_length,
        {"head_dim": 4},
        NAIVE_TILES,
        steps,
    )


def _attention_operation() -> NamedSchedule:
    """Return attention as one operation, tiled as such and then taken apart."""

    def attentions(module: ir.Module) -> list[ir.OpView]:
        return [op for op in operations_within(module.operation) if op.operation.name == Attention.NAME]

    def take_all_apart(module: ir.Module) -> None:
        for operation in attentions(module):
            take_apart(operation)

    def decompose_softmaxes(module: ir.Module) -> None:
        for operation in softmaxes(module):
            decompose(operation)

    def steps(*, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        def tile_rows(module: ir.Module) -> None:
            tile_and_fuse(attentions(module)[0], [1, 1, tile_q, 0, 0, 0])

        def tile_keys(module: ir.Module) -> None:
            options = TileOptions(peels_rest=True)
            tile_and_fuse(attentions(module)[0], [0, 0, 0, tile_kv, 0, 0], options=options)

        return (
            Step("query-tiles", "loops over batch, head and query tiles of the operation", tile_rows),
            Step("key-tiles", "the operation on key tiles goes on from output, maximum and total", tile_keys),
            Step("products-and-softmax", "a product, a softmax, a product", take_all_apart),
            Step("softmax-as-linalg", "the softmax in its linalg operations", decompose_softmaxes),
            LINALG,
        )

    source = "pull request Add flash attention forward op, to IREE: tiled as an operation, then taken apart"
    summary = "attention as one operation: tiled as such, then a product, a softmax and a product"
    return NamedSchedule(
        "attention-operation", summary, source, _attention_as_operation, SMALL, NAIVE_TILES, steps
    )


def _attention_as_operation(**sizes: int) -> ir.Module:
    return attention_operation(AttentionProblem(**sizes))


def _last_product(module: ir.Module) -> ir.OpView:
    return contractions(module)[-1]


def _flash(
    name: str,
    summary: str,
    source: str,
    order: Sequence[int],
    *before: Step,
    options: TileOptions = HOISTED,
) -> NamedSchedule:
    """Return a FlashAttention-style form: the loop over key tiles carries maximum, total and output."""

    def steps(*, tile_batch: int, tile_q: int, tile_kv: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            sizes = [tile_batch, 0, tile_q, 0, tile_kv]
            tile_and_fuse(products(module)[-1], sizes, order, options=options)

        return (ABSORBED_SCALE, *before, Step("tiled", f"interchange {order}", tile), LINALG)

    return NamedSchedule(name, summary, source, _heads, SMALL, FLASH_TILES, steps)


def _projections(name: str, summary: str, form: str, *, shares_keys: bool) -> NamedSchedule:
    outside = ", the projections of K and V outside" if shares_keys else ""

    def steps(*, tile_heads: int) -> tuple[Step, ...]:
        def tile(module: ir.Module) -> None:
            _, key, value, _, root = products(module)
            tile_and_fuse(root, [0, tile_heads, 0, 0, 0], stop=[key, value] if shares_keys else [])

        return ABSORBED_SCALE, Step("tiled", f"heads{outside}", tile), LINALG

    payload = partial(_projected, kv_heads=1) if shares_keys else _projected
    return NamedSchedule(name, summary, f"{SLIDES}{form}", payload, SMALL_PROJECTED, {"tile_heads": 1}, steps)


SCHEDULES: dict[str, NamedSchedule] = {
    schedule.name: schedule
    for schedule in (
        _product(
            "matmul-published",
            "three loops that carry the whole result; slices, product and insertion innermost",
            ", as printed",
            AS_PRINTED,
        ),
        _product("matmul", "three loops; the one over the depth carries a tile, which is inserted after it"),
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
            "flash-published",
            "keys outside, queries inside; every loop carries all maxima, totals and outputs",
            f"{SLIDES}, interchange {KEYS_OUTSIDE}, as printed",
            KEYS_OUTSIDE,
            options=AS_PRINTED,
        ),
        _flash(
            "flash-kv-outer",
            "keys outside, queries inside; after each key tile the output is exact for the keys so far",
            f"{SLIDES}, interchange {KEYS_OUTSIDE}; the loop over the batch carries outputs alone",
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
        _flash_of_any_length(),
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
