"""The variant `iree-decomposed`: IREE's attention op, tiled and taken apart by transform scripts.

What IREE otherwise does with the op within its passes is done here step by step, in view: grid, online form,
key loop, decomposition to linalg.  IREE lowers the result.  On GPUs tiles, layouts and threads are those of
`iree`.  On processors IREE's pipeline takes the loop only if what it carries are vectors.
"""

import re
from typing import ClassVar, Literal

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, UnsupportedError
from harness.targets.base import Stage
from harness.variants.baselines.iree.compilation import STAGES, Compilation
from harness.variants.baselines.iree.tiling import (
    OPERATION,
    REDUCTION,
    WORKGROUP,
    Configuration,
    IreeTiles,
    attribute,
    configuration,
    roles_in,
)
from harness.variants.baselines.iree.transforms import script
from harness.variants.baselines.iree.variant import Iree, IreeAttentionParameters, best_known
from harness.variants.baselines.masks import mask_shape

GRID_DIMENSIONS = ("x", "y", "z")
"""From the innermost dimension of the grid outwards; what is beyond shares the last."""

DECOMPOSITION = "func.func(iree-linalg-ext-decompose-attention)"

NO_BOOLEANS = "'vector.transfer_read' op requires formal padding and source of the same elemental type"
"""What iree-compile 3.13 says of them."""

TILE_Q, TILE_KV = 8, 64
"""Largest tiles on processors: their scores, and a step of either product, are vectors that IREE takes."""

CARRIED = re.compile(r"outs\([^:]*: (tensor<[^>]*>), tensor<[^>]*>, (tensor<[^>]*>)\)")
"""Types of the output and of the row sums that an online attention op carries."""


class IreeDecomposedParameters(IreeAttentionParameters):
    """Parameters of the decomposed op."""

    division: Literal["final", "every-step"] = "final"
    """Divide by the row sums once, after the last key tile, or after each."""


class IreeDecomposed(Iree):
    """IREE's attention op as a grid with a key loop of linalg operations."""

    name = "iree-decomposed"
    summary = "IREE's attention op tiled and decomposed by transform scripts, then lowered by IREE"
    parameters: ClassVar[type[IreeDecomposedParameters]] = IreeDecomposedParameters
    stages = (
        *STAGES[:1],
        Stage("configured", "what IREE would choose, whose tiles and layouts are used"),
        Stage("dispatches", "one function for each kernel"),
        Stage("grid", "one workgroup for a tile of queries"),
        Stage("online", "output, row maximum and row sum can be gone on from"),
        Stage("key-loop", "a loop over key tiles that carries the three"),
        Stage("every-step", "it carries the normalised output, with division = every-step"),
        Stage("decomposed", "linalg only"),
        Stage("vectorized", "vectors, on processors"),
        *STAGES[4:],
    )

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why this form cannot be built for the target."""
        reason = super().supports(problem, target)
        if reason is not None or target.partition(":")[0] != "cpu":
            return reason
        if 1 in (problem.seq_q, problem.seq_kv):
            return "IREE drops the dimension of a single query or key, which tiles are of"
        if mask_shape(problem) is not None and not problem.bias:
            return f"IREE has no vectors of boolean masks on processors: {NO_BOOLEANS}"
        return None

    def lower(self, case: Case, compilation: Compilation) -> None:
        """Take the op apart before IREE lowers it."""
        parameters = self.parameters.model_validate(case.params)
        compilation.advance("configured")
        configured, is_for_processor = compilation.text("configured"), compilation.target.driver is None
        if is_for_processor:
            chosen = processor_configuration(configured, parameters, case.problem)
        else:
            chosen = best_known(configuration(configured), parameters, case.problem)
        compilation.chosen = chosen.left_open(parameters)
        compilation.go_back_to("dispatches")
        compilation.transform("grid", grid_script(chosen))
        compilation.transform("online", script("online"))
        compilation.transform("key-loop", script("key_loop", tile_sizes=chosen.key_tiles))
        if parameters.division == "every-step":
            normalizing = every_step_script(compilation.text("key-loop"), case.problem.dtype)
            compilation.transform("every-step", normalizing, "inline,symbol-dce")
        compilation.transform("decomposed", kernel_passes=DECOMPOSITION)
        if is_for_processor:
            compilation.transform("vectorized", vectorizing_script(chosen))


def processor_configuration(
    configured: str, parameters: IreeTiles, problem: AttentionProblem
) -> Configuration:
    """Return tiles for a processor: the largest that divide the lengths, where parameters leave them open.

    Raises `UnsupportedError` for what only GPUs have, and for tiles that leave a rest.
    """
    others = [name for name in ("tile_v", "subgroups", "intrinsic") if getattr(parameters, name) is not None]
    if others:
        raise UnsupportedError(f"{', '.join(others)}: on GPUs only")
    roles = roles_in(configured)
    query, key = parameters.tile_q or TILE_Q, parameters.tile_kv or TILE_KV
    sizes = {}
    for name, tile, length in (("tile_q", query, problem.seq_q), ("tile_kv", key, problem.seq_kv)):
        size = max(part for part in range(1, min(tile, length) + 1) if length % part == 0)
        if getattr(parameters, name) is not None and size != min(tile, length):
            raise UnsupportedError(
                f"{name} {tile}: a tile that does not divide {length} has no size of its own"
            )
        sizes[name] = size
    workgroup = [int(loop in roles.output and loop != roles.columns) for loop in range(roles.loops)]
    workgroup[roles.queries] = sizes["tile_q"]
    keys = [sizes["tile_kv"] if loop == roles.keys else 0 for loop in range(roles.loops)]
    lowering = f"{WORKGROUP}{', '.join(map(str, workgroup))}], {REDUCTION}{', '.join(map(str, keys))}]"
    translation = attribute(configured, "translation_info")
    return Configuration(roles, lowering, "{}", translation)


def vectorizing_script(chosen: Configuration) -> str:
    """Return the script that makes vectors of the tiles of a configuration."""
    rows = sum(size > 0 for size in chosen.workgroup_tiles)
    kinds = [*["parallel"] * rows, "reduction", "parallel"]
    return script(
        "vectorized",
        iterators=[f"#linalg.iterator_type<{kind}>" for kind in kinds],
        tile_sizes=[int(kind == "reduction") for kind in kinds],
    )


def grid_script(chosen: Configuration) -> str:
    """Return the script that makes one workgroup of each tile."""
    sizes = chosen.workgroup_tiles
    tiled = sum(size > 0 for size in sizes)
    return script(
        "grid",
        decomposition=chosen.decomposition,
        translation=chosen.translation,
        tile_sizes=sizes,
        mapping=[f"#iree_codegen.workgroup_mapping<{_dimension(n)}>" for n in reversed(range(tiled))],
    )


def _dimension(number: int) -> str:
    """Return the grid's dimension for one of the tiled dimensions, numbered from the innermost."""
    last = len(GRID_DIMENSIONS) - 1
    beyond = number - last
    return GRID_DIMENSIONS[number] if beyond <= 0 else f"{GRID_DIMENSIONS[last]}:{beyond}"


def every_step_script(key_loop: str, dtype: str) -> str:
    """Return the script that lets the key loop carry the normalized output, for the types in its IR.

    Raises `BuildError` where all keys are one tile, and there is no loop.
    """
    if "scf.for " not in key_loop:
        raise BuildError("all keys are one tile, after which the division is final: set a smaller tile_kv")
    carried = CARRIED.search(key_loop, key_loop.find(OPERATION))
    if carried is None:
        raise BuildError(f"iree-opt: the key loop has no {OPERATION}")
    output, total = carried.groups()
    rank = output.count("x")
    return script(
        "every_step",
        output=output,
        sum=total,
        result=output.replace("xf32>", f"x{dtype}>"),
        dtype=dtype,
        dims=[f"d{number}" for number in range(rank)],
        iterators=['"parallel"'] * rank,
    )
