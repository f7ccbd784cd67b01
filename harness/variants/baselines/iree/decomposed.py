"""The variant `iree-decomposed`: IREE's attention op, tiled and taken apart by transform scripts.

What IREE otherwise does with the op within its passes is done here step by step, in view: grid, online form,
key loop, decomposition to linalg.  IREE lowers the result.  Tiles, layouts and threads are those of `iree`.
"""

import re
from typing import ClassVar, Literal

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError
from harness.targets.base import Stage
from harness.variants.baselines.iree.compilation import STAGES, Compilation
from harness.variants.baselines.iree.targets import iree_target
from harness.variants.baselines.iree.tiling import OPERATION, Configuration, configuration
from harness.variants.baselines.iree.transforms import script
from harness.variants.baselines.iree.variant import Iree, IreeAttentionParameters, best_known

GRID_DIMENSIONS = ("x", "y", "z")
"""From the innermost dimension of the grid outwards; what is beyond shares the last."""

DECOMPOSITION = "func.func(iree-linalg-ext-decompose-attention)"

NO_PLACE = "Yield operand #1 is not equivalent to the corresponding iter bbArg"
"""What iree-compile 3.13 says of the decomposed key loop on processors, in any of its pipelines: it finds no
place in memory for the row maximum that the loop carries."""

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
        *STAGES[4:],
    )

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why this form cannot be built for the target."""
        compile_target = iree_target(target)
        if compile_target is not None and compile_target.driver is None:
            return f"IREE lowers the decomposed op for GPUs only; for cpu it says: {NO_PLACE}"
        return super().supports(problem, target)

    def lower(self, case: Case, compilation: Compilation) -> None:
        """Take the op apart before IREE lowers it."""
        parameters = self.parameters.model_validate(case.params)
        compilation.advance("configured")
        chosen = best_known(configuration(compilation.text("configured")), parameters, case.problem)
        compilation.chosen = chosen.left_open(parameters)
        compilation.go_back_to("dispatches")
        compilation.transform("grid", grid_script(chosen))
        compilation.transform("online", script("online"))
        compilation.transform("key-loop", script("key_loop", tile_sizes=chosen.key_tiles))
        if parameters.division == "every-step":
            normalizing = every_step_script(compilation.text("key-loop"), case.problem.dtype)
            compilation.transform("every-step", normalizing, "inline,symbol-dce")
        compilation.transform("decomposed", kernel_passes=DECOMPOSITION)


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
