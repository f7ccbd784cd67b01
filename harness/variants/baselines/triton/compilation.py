"""Compiles the Triton kernel for a chip, with or without a device of that chip; imports Triton."""

import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from harness.artifact.stage_names import ASSEMBLY
from harness.problem.attention_problem import AttentionProblem
from harness.targets.cuda.chips import capability
from harness.targets.cuda.multiprocessor import WARP_LANES
from harness.variants.baselines.triton.kernel import flash_attention
from harness.variants.baselines.triton.tiles import TritonTiles

STAGES = {"ttir": "ttir", "ttgir": "ttgir", "llir": "llir", ASSEMBLY: "ptx"}
"""Stages, and Triton's own names of them."""

POINTERS = ("query", "key", "value", "output")
POINTER_TYPES = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32"}
ALIGNED = [["tt.divisibility", 16]]
"""What Triton may assume of pointers: their alignment in bytes."""

PRECISIONS = {"f16": "tf32", "bf16": "tf32", "f32": "tf32x3"}
"""How products of f32 are made of tensor-core products; of no effect for the other types."""

TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)
FOLDERS = re.compile(r'"/(?:[^"/\n]*/)*([^"/\n]+\.py)"')
"""Paths of sources, which say whose machine this is."""

PARAMETER = re.compile(r"^\s*\.param\b", re.MULTILINE)


@dataclass(frozen=True)
class TritonCode:
    """A compiled kernel."""

    name: str
    chip: str
    """What it is for, with the suffix of instructions that only this chip has: `sm_90a`."""
    texts: dict[str, str]
    """Of the stages."""
    cubin: bytes
    shared_bytes: int
    threads: int
    parameters: int
    """Pointers that the kernel takes: those of `POINTERS`, then scratch memory that it does not use."""


def compile_kernel(problem: AttentionProblem, chip: str, tiles: TritonTiles) -> TritonCode:
    """Compile for a chip; what Triton raises is left to the caller."""
    constants = _constants(problem, tiles)
    signature = dict.fromkeys(POINTERS, POINTER_TYPES[problem.dtype]) | dict.fromkeys(constants, "constexpr")
    aligned = {(position,): ALIGNED for position in range(len(POINTERS))}
    source = ASTSource(flash_attention, signature, constexprs=constants, attrs=aligned)
    target = GPUTarget("cuda", capability(chip)[0], WARP_LANES)
    options = {"num_warps": tiles.warps, "num_stages": tiles.pipeline}
    triton.knobs.compilation.disable_line_info = True  # machine code would hold paths
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of defaults that a later version changes: this one is pinned
        compiled = triton.compile(source, target=target, options=options)
    texts = {stage: str(compiled.asm[name]) for stage, name in STAGES.items()}
    return TritonCode(
        name=compiled.metadata.name,
        chip=TARGET.findall(texts[ASSEMBLY])[0],
        texts={stage: FOLDERS.sub(r'"\1"', text) for stage, text in texts.items()},
        cubin=compiled.asm["cubin"],
        shared_bytes=compiled.metadata.shared,
        threads=WARP_LANES * compiled.metadata.num_warps,
        parameters=len(PARAMETER.findall(_entry(texts[ASSEMBLY]))),
    )


def assembler(chip: str) -> Path:
    """Return the ptxas that comes with Triton for a chip: it knows the PTX that Triton writes."""
    return Path(get_ptxas(capability(chip)[0]).path)


def _constants(problem: AttentionProblem, tiles: TritonTiles) -> dict[str, object]:
    scale = problem.scale * math.log2(math.e)
    score_scale, exponent_scale = (1.0, scale) if scale > 0 else (scale, 1.0)
    aligned_bottom_right = problem.causal_alignment == "bottom-right"
    return {
        "heads": problem.heads,
        "kv_heads": problem.kv_heads,
        "seq_q": problem.seq_q,
        "seq_kv": problem.seq_kv,
        "width": problem.head_dim,
        "width_v": problem.head_dim_v,
        "score_scale": score_scale,
        "exponent_scale": exponent_scale,
        "causal": problem.causal,
        "shift": problem.seq_kv - problem.seq_q if aligned_bottom_right else 0,
        "tile_q": tiles.tile_q,
        "tile_kv": tiles.tile_kv,
        "precision": PRECISIONS[problem.dtype],
    }


def _entry(ptx: str) -> str:
    """Return the parameter list of the kernel."""
    return ptx[ptx.index(".entry") :].partition(")")[0]
