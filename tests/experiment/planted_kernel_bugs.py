"""Bugs planted into code generation, and the case of a shipped experiment that each of them makes wrong.

`pytest -m slow tests/experiment/test_planted_kernel_bugs.py` plants them, one at a time, in a copy of the
package, and runs `harness check`.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.experiment.experiment import load_experiment
from harness.problem.case import Case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments"


@dataclass(frozen=True)
class PlantedBug:
    """A change of one place in the package's source, and one case that it makes wrong."""

    what: str
    file: str
    """Relative to the package."""
    old: str
    """Occurs once in the file."""
    new: str
    experiment: str
    only: tuple[str, ...]
    """Filters of `--only` that choose the case."""
    shown_by: str
    """What the row says of it: the first inputs that show it, or a finding of the emulator."""


VISIBLE_TILES = "codegen/rewrites/visible_tiles.py"
PACKED = "codegen/rewrites/packed_sequences.py"
PACKED_PAYLOAD = "codegen/payloads/packed_attention.py"
QUERY_ROWS = "codegen/payloads/query_rows.py"
SPLIT_REDUCTION = "codegen/rewrites/split_reduction.py"
LOOP_DISTRIBUTION = "codegen/rewrites/loop_distribution.py"
GRID_ORDER = "targets/lowering/grid_order.py"

CPU_FLASH = ("variant=flash", "target=cpu")
GPU_FLASH = ("variant=flash", "target=cuda:sm_80")
MANY_KEYS = "seq_kv=8192"
JOINED = (*CPU_FLASH, "seq_q=3", "seq_kv=97")
EDGES_OF_SEQUENCES = ("variant=varlen", "page_size=none", "cu_seqlens_q=0:77:107:207:240")


def _coarse_sums(dtype: str, experiment: str, flash: tuple[str, ...]) -> PlantedBug:
    return PlantedBug(
        f"sums of products with V are rounded to {dtype} after every key tile",
        "codegen/dialect/decomposition.py",
        "[factor], matrix, lambda scalar, x: arith.mulf(scalar, x)",
        "[factor], matrix, lambda scalar, x: "
        f'b.widen(b.narrow(arith.mulf(scalar, x), "{dtype}")) if width else arith.mulf(scalar, x)',
        experiment,
        (*flash, MANY_KEYS, f"dtype={dtype}"),
        "normal inputs",
    )


BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "a tile of which the first row sees all keys but the last is not masked",
        VISIBLE_TILES,
        "round_down(maximum(add(least, 1), 0), step)",
        "round_down(maximum(add(least, 2), 0), step)",
        "correctness",
        (*CPU_FLASH, "seq_q=77", "seq_kv=139"),
        "normal inputs",
    ),
    PlantedBug(
        "a tile of which the first row sees all keys but the last is not masked",
        VISIBLE_TILES,
        "round_down(maximum(add(least, 1), 0), step)",
        "round_down(maximum(add(least, 2), 0), step)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=77", "dtype=f16"),
        "normal inputs",
    ),
    PlantedBug(
        "a tile of which only the last row sees a key is left out",
        VISIBLE_TILES,
        "maximum(add(most, 1), 0)",
        "maximum(most, 0)",
        "correctness",
        (*CPU_FLASH, "seq_q=65", "causal=true"),
        "normal inputs",
    ),
    PlantedBug(
        "a tile of which only the last row sees a key is left out",
        VISIBLE_TILES,
        "maximum(add(most, 1), 0)",
        "maximum(most, 0)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=65", "dtype=f16"),
        "normal inputs",
    ),
    PlantedBug(
        "keys of the last tile that another tile has, too, count twice",
        VISIBLE_TILES,
        "whole_end = minimum(whole_end, round_down(length, step))",
        "whole_end = minimum(whole_end, length)",
        "correctness",
        (*CPU_FLASH, "seq_q=333", "causal=false"),
        "normal inputs",
    ),
    PlantedBug(
        "the first row of a sequence is taken to see one key more",
        PACKED,
        "add(add(first, shift), 1)",
        "add(add(first, shift), 2)",
        "correctness",
        (*EDGES_OF_SEQUENCES, "causal=true"),
        "normal inputs",
    ),
    PlantedBug(
        "the last row of a sequence is taken to see one key fewer",
        PACKED,
        "most_end = minimum(most_end, add(end, shift))",
        "most_end = minimum(most_end, subtract(add(end, shift), 1))",
        "correctness",
        (*EDGES_OF_SEQUENCES, "causal=true"),
        "normal inputs",
    ),
    PlantedBug(
        "a sequence is taken to begin one key later",
        PACKED,
        "minimum(least_first, first_of_first),",
        "minimum(least_first, add(first_of_first, 1)),",
        "correctness",
        (*EDGES_OF_SEQUENCES, "causal=false"),
        "normal inputs",
    ),
    PlantedBug(
        "a tile whose first key is another sequence's is not masked",
        PACKED,
        "_down(add(minimum(most_first, sequences.keys), step - 1), step)",
        "_down(add(minimum(most_first, sequences.keys), step - 2), step)",
        "correctness",
        (*EDGES_OF_SEQUENCES, "causal=false"),
        "normal inputs",
    ),
    PlantedBug(
        "a running maximum starts at 0",
        "codegen/payloads/attention_steps.py",
        "LOWEST = -1e30",
        "LOWEST = 0.0",
        "correctness",
        (*CPU_FLASH, "seq_q=77", "seq_kv=256", "causal_alignment=top-left"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "a running maximum starts at 0",
        "codegen/payloads/attention_steps.py",
        "LOWEST = -1e30",
        "LOWEST = 0.0",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=65", "dtype=f16"),
        "large-logits inputs",
    ),
    PlantedBug(
        "a running maximum starts at −1000",
        "codegen/payloads/attention_steps.py",
        "LOWEST = -1e30",
        "LOWEST = -1000.0",
        "correctness",
        (*CPU_FLASH, "seq_q=77", "seq_kv=256", "causal_alignment=top-left"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "a running maximum starts at −1000",
        "codegen/payloads/attention_steps.py",
        "LOWEST = -1e30",
        "LOWEST = -1000.0",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=65", "dtype=f16"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "a running maximum starts above the least number, which a bias can be",
        "codegen/payloads/attention_steps.py",
        "LEAST if takes_any_score else LOWEST",
        "LOWEST",
        "correctness",
        (*CPU_FLASH, "bias=true", "mask=false", "seq_q=75", "softcap=none"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "what a mask hides has the score −10000",
        "codegen/payloads/attention_steps.py",
        "return attn.mask(value, visible, [b.index(0)] * rank, fill=-math.inf).masked",
        "return attn.mask(value, visible, [b.index(0)] * rank, fill=-1e4).masked",
        "correctness",
        (*CPU_FLASH, "seq_q=77", "seq_kv=256", "causal_alignment=top-left"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "rows that see no key are divided by their total, 0",
        "codegen/dialect/decomposition.py",
        "return arith.divf(element, arith.select(empty_row, b.constant(1.0, dtype), total))",
        "return arith.divf(element, total)",
        "correctness",
        (*CPU_FLASH, "seq_q=200"),
        "normal inputs",
    ),
    PlantedBug(
        "rows that see no key are divided by their total, 0",
        "codegen/dialect/decomposition.py",
        "return arith.divf(element, arith.select(empty_row, b.constant(1.0, dtype), total))",
        "return arith.divf(element, total)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=130", "dtype=f32"),
        "normal inputs",
    ),
    PlantedBug(
        "rows of padding are stored behind the last row",
        "targets/lowering/destinations.py",
        "ir.BoolAttr.get(size == kept_size) for size, kept_size in sizes",
        "ir.BoolAttr.get(True) for _ in sizes",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=5", "dtype=f16"),
        "out-of-bounds",
    ),
    PlantedBug(
        "what parts of the keys give is added without rescaling what was merged before",
        SPLIT_REDUCTION,
        "arith.addf(arith.mulf(kept, old), arith.mulf(taken, new))",
        "arith.addf(old, arith.mulf(taken, new))",
        "gpu_kernels",
        (*GPU_FLASH, "seq_kv=333"),
        "normal inputs",
    ),
    PlantedBug(
        "the totals of parts of the keys are added as they are",
        SPLIT_REDUCTION,
        "[weight, total], b.empty_like(total), arith.mulf)",
        "[weight, total], b.empty_like(total), lambda _, own: own)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_kv=333"),
        "normal inputs",
    ),
    PlantedBug(
        "the last part of the keys ends a tile early",
        SPLIT_REDUCTION,
        "floor_divide(add(before, tiles), parts)",
        "floor_divide(add(before, tiles - 1), parts)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_kv=333"),
        "normal inputs",
    ),
    PlantedBug(
        "a part of the keys that sees nothing has the maximum 0",
        SPLIT_REDUCTION,
        "return b.filled(0.0 if number is None else number,",
        "return b.filled(0.0,",
        "gpu_kernels",
        (*GPU_FLASH, "seq_kv=200"),
        "negative-logits inputs",
    ),
    PlantedBug(
        "the first part of the keys is merged in place of each",
        LOOP_DISTRIBUTION,
        "kept = workspace.block(memory, nest.point)",
        "kept = workspace.block(memory, [*nest.point[:-1], nest.loop.operands[0]])",
        "gpu_kernels",
        (*GPU_FLASH, "seq_kv=333"),
        "normal inputs",
    ),
    PlantedBug(
        "a tile of queries is left out where the order of tiles counts down",
        GRID_ORDER,
        "size - 1 - number",
        "size - number",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=129", "seq_kv=129", "dtype=f16"),
        "normal inputs",
    ),
    PlantedBug(
        "axes of the grid change places, and not how many points they have",
        GRID_ORDER,
        "ir.DenseI64ArrayAttr.get([sizes[axis] for axis in order])",
        "ir.DenseI64ArrayAttr.get(sizes)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=129", "seq_kv=129", "dtype=f16"),
        "out-of-bounds",
    ),
    PlantedBug(
        "probabilities pass through bf16",
        "targets/gpu/matrix_operands.py",
        "source = arith.truncf(rounded_type, operand)",
        "coarse = ir.VectorType.get(operand.type.shape, ir.BF16Type.get())\n"
        "                operand = arith.extf(operand.type, arith.truncf(coarse, operand))\n"
        "                source = arith.truncf(rounded_type, operand)",
        "gpu_kernels",
        (*GPU_FLASH, "seq_q=129", "seq_kv=129", "dtype=f16"),
        "cancelling inputs",
    ),
    PlantedBug(
        "the number of a query is that of its row, which queries of several heads share",
        QUERY_ROWS,
        "if self.queries == 1 else ir.AffineExpr.get_mod(row, self.queries)",
        "if self.queries == 1 else row",
        "correctness",
        (*JOINED, "dtype=bf16", "causal=true", "kv_heads=1"),
        "normal inputs",
    ),
    PlantedBug(
        "rows of several heads have the sinks of these heads in turn",
        QUERY_ROWS,
        "        return steps.for_each_query_head(value, self.queries, axis=value.type.rank - 1)\n",
        "        from mlir.dialects import linalg, tensor\n"
        "        static, last = list(value.type.shape), value.type.rank - 1\n"
        "        shape = [*static[:-1], self.queries, static[-1]]\n"
        "        new = tensor.empty(shape, value.type.element_type)\n"
        "        new = steps.result_of(linalg.broadcast(value, outs=[new], dimensions=[last]))\n"
        "        joined = [*static[:-1], self.queries * static[-1]]\n"
        "        groups = [*([axis] for axis in range(last)), [last, last + 1]]\n"
        "        kind = ir.RankedTensorType.get(joined, value.type.element_type)\n"
        "        return tensor.CollapseShapeOp(kind, new, groups).result\n",
        "correctness",
        (*JOINED, "dtype=f16", "sinks=true", "kv_heads=2", "bias_axes=k"),
        "normal inputs",
    ),
    PlantedBug(
        "packed sequences are aligned to the bottom right where the top left is asked for",
        PACKED_PAYLOAD,
        "arith.subi(key, query) if is_top_left",
        "arith.subi(key_end, query_end) if is_top_left",
        "correctness",
        ("variant=varlen", "causal_alignment=top-left", "dtype=f16"),
        "normal inputs",
    ),
    PlantedBug(
        "packed sequences have no sinks",
        PACKED_PAYLOAD,
        'sinks = [values["sinks"]] if problem.sinks else []',
        "sinks = []",
        "correctness",
        ("variant=varlen", "causal_alignment=top-left", "dtype=f16"),
        "normal inputs",
    ),
    PlantedBug(
        "a division in every step keeps another part of the total than what is carried",
        "codegen/dialect/decomposition.py",
        "[carried, total], softmax.correction_out, safe_quotient)",
        "[correction, total], softmax.correction_out, safe_quotient)",
        "correctness",
        (*CPU_FLASH, "division=every-step", "dtype=f32", "seq_kv=105", "kv_heads=1"),
        "normal inputs",
    ),
    PlantedBug(
        "keys of batch entries' own lengths are aligned to the bottom right where the top left is asked for",
        "codegen/payloads/attention.py",
        '(aligned if problem.causal_alignment == "bottom-right" else query) - key',
        "aligned - key",
        "correctness",
        (*CPU_FLASH, "causal_alignment=top-left", "head_dim=136", "dtype=f16", "bias=true"),
        "normal inputs",
    ),
    PlantedBug(
        "a negative scale loses its sign",
        "codegen/rewrites/normalization.py",
        "np.float32(size if is_taken_without_its_sign else scaled.factor) >=",
        "np.float32(size) >=",
        "correctness",
        (*CPU_FLASH, "seq_q=150", "scale=-0.2", "head_dim=64"),
        "normal inputs",
    ),
    PlantedBug(
        "a scale that exponents are not fused with is forgotten",
        "codegen/dialect/decomposition.py",
        "_multiply_add(difference, factor, shift, dtype)",
        "_multiply_add(difference, LOG2_E, shift, dtype)",
        "correctness",
        (*CPU_FLASH, "seq_q=48", "scale=20.0"),
        "normal inputs",
    ),
    PlantedBug(
        "a window that hides later keys alone is forgotten where batch entries have their own lengths",
        "codegen/payloads/attention.py",
        '        visible.append((aligned if problem.causal_alignment == "bottom-right" else query) - key)\n'
        "    if right is not None:",
        '        visible.append((aligned if problem.causal_alignment == "bottom-right" else query) - key)\n'
        "    if right is not None and left is not None:",
        "correctness",
        (*CPU_FLASH, "seq_q=37", "seq_kv=97", "mask_axes=hq"),
        "normal inputs",
    ),
    PlantedBug(
        "a window of packed sequences that hides later keys alone is forgotten",
        PACKED_PAYLOAD,
        "    _, right = problem.window_sides\n    if right is not None:",
        "    left, right = problem.window_sides\n    if right is not None and left is not None:",
        "correctness",
        ("variant=varlen", "cu_seqlens_kv=0:17:97", "scale=20.0", "head_dim=40"),
        "normal inputs",
    ),
    PlantedBug(
        "the parts of a row that are added up at once are the same ones in every step",
        "targets/cpu/row_products.py",
        "[add(start, number * lanes) for number in range(parts)]",
        "[add(start, 0) if number == 0 else number * lanes for number in range(parts)]",
        "correctness",
        (*CPU_FLASH, "head_dim=320", "heads=1", "bias_axes=bhqk"),
        "normal inputs",
    ),
    PlantedBug(
        "the end of a row that 8 does not divide is left out",
        "targets/cpu/row_products.py",
        "lanes = _largest_part(depth, vector_length)",
        "lanes = max(8, _largest_part(depth, vector_length))",
        "correctness",
        (*CPU_FLASH, "seq_q=1", "head_dim=100", "dtype=f32"),
        "normal inputs",
    ),
    PlantedBug(
        "f32 passes through bf16 on its way to AMD's matrix instructions",
        "codegen/layouts/instructions/amd.py",
        "        return tuple(vector_dialect.extract(fragment, [], [number]) for number in range(count))\n",
        "        from mlir import ir\n"
        "        from mlir.dialects import arith\n"
        "        coarse = ir.VectorType.get(fragment.type.shape, ir.BF16Type.get())\n"
        "        fragment = arith.extf(fragment.type, arith.truncf(coarse, fragment))\n"
        "        return tuple(vector_dialect.extract(fragment, [], [number]) for number in range(count))\n",
        "rocm_kernels",
        ("variant=flash", "target=rocm:gfx90a", "dtype=f32"),
        "normal inputs",
    ),
    _coarse_sums("f16", "correctness", CPU_FLASH),
    _coarse_sums("bf16", "correctness", CPU_FLASH),
    _coarse_sums("f16", "gpu_kernels", GPU_FLASH),
    _coarse_sums("bf16", "gpu_kernels", GPU_FLASH),
)


def planted(bug: PlantedBug, site: Path) -> None:
    """Copy the package into a folder, with the bug in it."""
    package = site / "harness"
    shutil.copytree(ROOT / "harness", package, ignore=shutil.ignore_patterns("__pycache__"))
    source = package / bug.file
    text = source.read_text(encoding="utf-8")
    found = text.count(bug.old)
    if found != 1:
        raise AssertionError(f"{bug.file} has {bug.old!r} {found} times, expected once: {bug.what}")
    source.write_text(text.replace(bug.old, bug.new), encoding="utf-8")


def case_of(bug: PlantedBug) -> Case:
    """Return the one case that a bug makes wrong."""
    cases = load_experiment(FOLDER / f"{bug.experiment}.toml").cases(bug.only)
    if len(cases) != 1:
        raise AssertionError(f"{bug.what}: {bug.only} choose {len(cases)} cases, expected one")
    return cases[0]
