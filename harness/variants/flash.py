"""The variant `flash`."""

from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from harness.experiment.searched import Searched
from harness.problem.case import Case, ParameterValue
from harness.system.errors import UnsupportedError
from harness.targets.answers import key_splits
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import INITIAL, OUTER_TILED, Step
from harness.variants.tiling import Tiling

SPLITS = (1, 2, 4, 8, 16)
"""Numbers of parts of the keys that a search chooses from."""


class FlashParameters(TileParameters):
    """Tile sizes, where the softmax divides, and in how many parts the keys are gone over."""

    division: Literal["final", "every-step"] = Field(default="final")
    """`final`: the output is divided once, after the last key tile (FlashAttention-2).  `every-step`: after
    every key tile it is exact attention over the keys so far (slides *Linalg Fusion Enhancement*)."""
    kv_splits: Annotated[int | None, Searched(SPLITS, is_modelled=False)] = Field(default=None, ge=1, le=4096)
    """Parts of the keys, each gone over by workgroups of its own, at most one for each key tile; a second
    kernel merges what they give (Flash-Decoding).  Targets choose several where tiles of queries are few."""


class Flash(GeneratedVariant):
    """FlashAttention-style: the loop over key tiles carries the running maximum, sum and output."""

    name = "flash"
    summary = "one pass over the keys, online softmax, one division at the end (FlashAttention-2)"
    parameters = FlashParameters
    other_routes = MappingProxyType({"grid-only": (INITIAL, OUTER_TILED)})
    """Of targets that tile the keys themselves."""

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Tile queries over the grid, then keys with a running softmax."""
        from harness.variants import attention_schedule as steps

        divides_once = not isinstance(parameters, FlashParameters) or parameters.division == "final"
        return [
            steps.ABSORBED_SCALE,
            *([steps.FINAL_DIVISION] if divides_once else []),
            steps.grid(tiling),
            steps.key_loop(tiling),
            *(steps.key_splits(tiling) if tiling.key_splits > 1 else []),
            steps.VISIBLE_TILES,
            steps.TILED,
        ]

    def outer_schedule(self, case: Case, tiling: Tiling) -> list[Step]:
        """Tile batch, head and queries over the grid."""
        from harness.variants import attention_schedule as steps

        if case.params.get("division") == "every-step":
            raise UnsupportedError(f"{case.target} divides once with these options")
        return [steps.step_of(OUTER_TILED.name, OUTER_TILED.summary, steps.tile_outer, tiling)]

    def cut(self, case: Case) -> Tiling:
        """Cut a problem, its keys into as many parts as its parameters or its target say."""
        from harness import plugins

        tiling, splits = super().cut(case), case.params.get("kv_splits")
        if plugins.target(case.target).tiles_keys(case):
            if isinstance(splits, int) and splits > 1:
                raise UnsupportedError(f"{case.target} goes over the keys in one part with these options")
            unmasked = tiling.problem.model_copy(update={"causal": False})
            return replace(tiling, problem=unmasked, original_problem=unmasked)
        if not isinstance(splits, int):
            splits = key_splits(case, tiling.grid_points, tiling.key_tiles)
        return replace(tiling, key_splits=min(splits, tiling.key_tiles))

    def resolved(self, case: Case) -> Case:
        """Return the case with the number of parts of its keys."""
        splits = self.cut(case).key_splits
        return case.model_copy(update={"params": {**case.params, "kv_splits": splits}})

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what the target chose, the number of parts where it has more than one or was cut."""
        chosen, splits = super().chosen(case), self.tiling(case).key_splits
        kv_splits = case.params.get("kv_splits")
        is_chosen = splits > 1 if kv_splits is None else isinstance(kv_splits, int) and kv_splits > splits
        return {**chosen, "kv_splits": splits} if is_chosen else chosen
