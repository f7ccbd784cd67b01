"""The variant `varlen`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import with_room
from harness.problem.case import Case
from harness.problem.forms import PACKED
from harness.problem.inputs import lengths_of
from harness.problem.pages import paging_of, room_for
from harness.system.errors import UnsupportedError
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class VarlenParameters(TileParameters):
    """Tile sizes, and how keys and values lie in memory."""

    page_size: int | None = Field(default=None, ge=1, le=65536)
    """Tokens of a page where keys and values lie in the pages of a pool, found through a table, as caches of
    servers hold them; otherwise they are packed.  A page is a whole number of key tiles."""


class Varlen(GeneratedVariant):
    """Variable length: packed sequences whose cumulative lengths the kernel reads.

    Tiles run over all tokens, so that short sequences share tiles and no work depends on the longest one; a
    tile of queries visits the key tiles of the sequences that it touches.
    """

    name = "varlen"
    summary = "packed sequences of any lengths, FlashAttention-style; needs cu_seqlens"
    parameters = VarlenParameters
    needed = PACKED

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return None, or the first feature that is not built."""
        from harness.codegen.payloads.attention import unsupported_by_payload

        if not problem.is_packed:
            return "varlen is about packed sequences: the problem needs cu_seqlens_q and cu_seqlens_kv"
        if problem.q_shape[0] == 0 or problem.k_shape[0] == 0:
            return "all sequences are empty"
        plain = {"cu_seqlens_q": None, "cu_seqlens_kv": None}
        return unsupported_by_payload(problem.model_copy(update=plain))

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return attention of all tokens."""
        from harness.codegen.payloads.packed_attention import packed_attention

        tiles = (tiling.query, tiling.key) if tiling.follows_lengths else None
        return packed_attention(tiling.problem, tiling.padded, tiling.pages, tiles)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Tile tokens over the grid, then keys with a running softmax."""
        from harness.variants import attention_schedule as steps

        pages = steps.step_of(
            "pages", "tiles of K and V are read where the page table says", steps.look_up_pages, tiling
        )
        return [
            steps.ABSORBED_SCALE,
            steps.FINAL_DIVISION,
            steps.step_of("grid", "head and tiles of tokens", steps.tile_tokens, tiling),
            steps.key_loop(tiling, steps.tile_keys_of_sequences),
            steps.step_of(
                "visible-tiles",
                "only key tiles of the sequences that the queries belong to",
                steps.visit_tiles_of_sequences,
                tiling,
            ),
            Step(
                "row-bounds",
                "a loop over the sequences, for the keys that each row sees",
                steps.loop_over_sequences,
            ),
            *([pages] if tiling.pages is not None else []),
            steps.TILED,
        ]

    def with_room(self, case: Case) -> Case:
        """Return the case with room for more tokens and sequences than there are."""
        return case.model_copy(update={"problem": with_room(case.problem)})

    def cut(self, case: Case) -> Tiling:
        """Cut a problem, its keys by pages where it has them."""
        tiling, page_size = super().cut(case), case.params.get("page_size")
        if not isinstance(page_size, int):
            return tiling
        room = room_for(case.problem, page_size)
        key = self._keys_of_tile(case, tiling, page_size)
        return replace(tiling, key=key, padded=replace(tiling.padded, keys=room.tokens), pages=room)

    def _keys_of_tile(self, case: Case, tiling: Tiling, page_size: int) -> int:
        """Return the most keys that divide a page and are a tile, no more than the target prefers.

        Raises `UnsupportedError` where there is no such number, or the one that is asked for is another.
        """
        asked, unit = case.params.get("tile_kv"), tiling.least_depth
        most = max(unit, tiling.preferred_key)
        fitting = [keys for keys in range(unit, min(page_size, most) + 1, unit) if page_size % keys == 0]
        if isinstance(asked, int) and asked not in fitting:
            raise UnsupportedError(f"tile_kv {asked} does not divide pages of {page_size} tokens")
        if not fitting:
            raise UnsupportedError(
                f"pages of {page_size} tokens: tiles of keys are multiples of {unit} on {case.target}"
            )
        return asked if isinstance(asked, int) else fitting[-1]

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Build the kernel, which knows how keys lie."""
        artifact, page_size = super().build(case, key, folder), case.params.get("page_size")
        return artifact.model_copy(update={"page_size": page_size})

    def lengths(self, case: Case) -> dict[str, np.ndarray]:
        """Return the lengths and places of sequences that the kernel reads."""
        page_size = case.params.get("page_size")
        return lengths_of(
            case.problem, paging_of(case.problem, page_size) if isinstance(page_size, int) else None
        )
