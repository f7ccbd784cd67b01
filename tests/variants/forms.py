"""The tiled kernels of small problems as text, before any target sees them."""

from harness import plugins
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.targets.base import TileSizes
from harness.variants.schedule import StageRecord, apply
from harness.variants.tiling import Tiling

VARIANTS = ("flash", "naive", "unfused")
SIZES = TileSizes(query=16, key=8)


def stages(
    variant: str, sizes: TileSizes = SIZES, params: dict | None = None, **fields: object
) -> dict[str, str]:
    """Return each stage of a problem of, by default, 32 queries and 24 keys, two tiles by three."""
    problem = AttentionProblem(**{"heads": 2, "seq_q": 32, "seq_kv": 24, "head_dim": 4, **fields})
    chosen = plugins.variant(variant)
    tiling = Tiling.of(problem, sizes)
    record = StageRecord()
    with mlir_context():
        module = chosen.payload(tiling)
        record.note("payload", 0.0, module)
        apply(chosen.schedule(tiling, chosen.parameters.model_validate(params or {})), module, record)
    return record.texts


def tiled(variant: str, **fields: object) -> str:
    """Return the last stage: tiled kernels in upstream dialects only."""
    return stages(variant, **fields)["tiled"]
