"""Compiles the Triton kernel for a chip, with or without a device of that chip; imports Triton."""

import math
import re
import warnings

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from harness.artifact.stage_names import ASSEMBLY
from harness.problem.attention_problem import AttentionProblem
from harness.variants.baselines.triton.code import TritonCode
from harness.variants.baselines.triton.kernel import flash_attention
from harness.variants.baselines.triton.tiles import TritonTiles
from harness.variants.baselines.triton.vendors import Emission

STAGES = ("ttir", "ttgir", "llir")
"""Of which Triton's own names are the same."""

POINTERS = ("query", "key", "value", "output")
POINTER_TYPES = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32"}
ALIGNED = [["tt.divisibility", 16]]
"""What Triton may assume of pointers: their alignment in bytes."""


PTX_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)
FOLDERS = re.compile(r'"/(?:[^"/\n]*/)*([^"/\n]+\.py)"')
"""Paths of sources, which say whose machine this is."""

KERNEL = re.compile(r"^define .*_kernel void @.*$", re.MULTILINE)
PARAMETER = re.compile(r"\bptr addrspace\(1\)")


def compile_kernel(
    problem: AttentionProblem, chip: str, tiles: TritonTiles, emission: Emission, precision: str
) -> TritonCode:
    """Compile for a chip; what Triton raises is left to the caller."""
    constants = kernel_constants(problem, tiles, precision)
    signature = dict.fromkeys(POINTERS, POINTER_TYPES[problem.dtype]) | dict.fromkeys(constants, "constexpr")
    aligned = {(position,): ALIGNED for position in range(len(POINTERS))}
    source = ASTSource(flash_attention, signature, constexprs=constants, attrs=aligned)
    target = GPUTarget(*emission.target(chip))
    options = {"num_warps": tiles.warps, "num_stages": tiles.pipeline}
    triton.knobs.compilation.disable_line_info = True  # machine code would hold paths
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of defaults that a later version changes: this one is pinned
        compiled = triton.compile(source, target=target, options=options)
    names = {**{stage: stage for stage in STAGES}, ASSEMBLY: emission.assembly_name}
    texts = {stage: FOLDERS.sub(r'"\1"', str(compiled.asm[name])) for stage, name in names.items()}
    return TritonCode(
        name=compiled.metadata.name,
        chip=next(iter(PTX_TARGET.findall(texts[ASSEMBLY])), chip),
        texts=texts,
        binary=compiled.asm[emission.binary_name],
        shared_bytes=compiled.metadata.shared,
        threads=target.warp_size * compiled.metadata.num_warps,
        parameters=len(PARAMETER.findall(KERNEL.findall(texts["llir"])[0])),
    )


def kernel_constants(problem: AttentionProblem, tiles: TritonTiles, precision: str) -> dict[str, object]:
    """Return what the kernel takes besides pointers, by name."""
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
        "precision": precision,
    }
