"""The variant `varlen`."""

from typing import TYPE_CHECKING

from harness.problem.attention_problem import AttentionProblem
from harness.problem.forms import PACKED
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Varlen(GeneratedVariant):
    """Variable length: packed sequences whose cumulative lengths the kernel reads.

    Tiles run over all tokens, so that short sequences share tiles and no work depends on the longest one; a
    tile of queries visits the key tiles of the sequences that it touches.
    """

    name = "varlen"
    summary = "packed sequences of any lengths, FlashAttention-style; needs cu_seqlens"
    needed = PACKED

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return None, or the first feature that is not built."""
        from harness.payloads.attention import unsupported_by_payload

        if not problem.is_packed:
            return "varlen is about packed sequences: the problem needs cu_seqlens_q and cu_seqlens_kv"
        if problem.q_shape[0] == 0 or problem.k_shape[0] == 0:
            return "all sequences are empty"
        plain = {"cu_seqlens_q": None, "cu_seqlens_kv": None}
        return unsupported_by_payload(problem.model_copy(update=plain))

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return attention of all tokens."""
        from harness.payloads.packed_attention import packed_attention

        return packed_attention(tiling.problem, tiling.padded)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Tile tokens over the grid, then keys with a running softmax."""
        from harness.variants import attention_schedule as steps

        return [
            Step("absorbed-scale", "the scale of scores moves into the exponent", steps.absorb_scales),
            Step("final-division", "divide once, after the product with V", steps.divide_once),
            Step("grid", "head and tiles of tokens", lambda module: steps.tile_tokens(module, tiling)),
            Step(
                "key-loop",
                "a loop over key tiles that carries maximum, total and output",
                lambda module: steps.tile_keys(module, tiling),
            ),
            Step(
                "visible-tiles",
                "only key tiles of the sequences that the queries belong to",
                lambda module: steps.visit_tiles_of_sequences(module, tiling.problem),
            ),
            Step(
                "row-bounds",
                "a loop over the sequences, for the keys that each row sees",
                steps.loop_over_sequences,
            ),
            Step("tiled", "linalg only", steps.to_linalg),
        ]
