"""How a workgroup's warps share the tiles of a problem: how many there are, and what tiles they can share."""

from harness.errors import UnsupportedError
from harness.layouts.matrix_instruction import MatrixInstruction
from harness.layouts.warp_tiling import WarpTiling
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.targets.base import TileSizes
from harness.targets.gpu.strategy import GpuOptions, Strategy, choose
from harness.targets.gpu.tile_choice import WorkgroupTile, bands_of_warp
from harness.targets.gpu.vendor import Vendor


def as_computed(vendor: Vendor, problem: AttentionProblem) -> AttentionProblem:
    """Return a problem with the widths and keys that the kernels compute, padding included.

    Packed sequences are as one, which tiles run over.  It says how large tiles are; which keys a query sees
    is for the problem itself to say.
    """
    wide = _with_padded_widths(vendor, as_one_sequence(problem))
    return wide.model_copy(update={"seq_kv": max(problem.seq_kv, key_multiple(vendor, wide))})


def as_one_sequence(problem: AttentionProblem) -> AttentionProblem:
    """Return a problem with as many queries and keys as lie one after the other."""
    if not problem.is_packed:
        return problem
    tokens, keys = problem.q_shape[0], problem.k_shape[0]
    lengths = {"cu_seqlens_q": None, "cu_seqlens_kv": None, "batch": 1}
    return problem.model_copy(update={**lengths, "seq_q": tokens, "seq_kv": keys})


def warp_tiling(vendor: Vendor, problem: AttentionProblem) -> WarpTiling:
    """Return the matrix instruction for a problem and how many warps execute it."""
    return WarpTiling(_instruction(vendor, problem), warps_for(vendor, problem), vendor.shared_memory)


def warps_for(vendor: Vendor, problem: AttentionProblem) -> int:
    """Return how many warps share a tile of queries: fewer, a power of two, where a problem has few."""
    rows = _instruction(vendor, problem).m
    warps, queries, most = 1, as_one_sequence(problem).seq_q, most_warps(vendor, problem)
    while warps < most and queries > warps * rows:
        warps *= 2
    return warps


def most_warps(vendor: Vendor, problem: AttentionProblem) -> int:
    """Return how many warps a workgroup may have: as many as shared memory has room for their rows of Q."""
    rows, wide = _instruction(vendor, problem).m, _with_padded_widths(vendor, problem)
    warps = vendor.most_warps
    while warps > 1 and not _has_room(vendor, wide, warps * rows, 0):
        warps //= 2
    return warps


def most_keys(vendor: Vendor, problem: AttentionProblem) -> int:
    """Return how many keys a tile has where there are enough of them.

    Fewer where rows of K and V are long, and as many as shared memory has room for.
    """
    row_bytes = (problem.head_dim + problem.head_dim_v) * itemsize(problem.dtype)
    is_long = vendor.long_row_bytes is not None and row_bytes > vendor.long_row_bytes
    keys = vendor.key_tile // 2 if is_long else vendor.key_tile
    while keys // 2 >= key_multiple(vendor, problem) and not _has_room(vendor, problem, 0, keys):
        keys //= 2
    return keys


def key_multiple(vendor: Vendor, problem: AttentionProblem) -> int:
    """Return what the keys of a tile are a multiple of.

    As products take them, and, where tiles are copied to shared memory, rows of K and V that all warps copy
    at once.
    """
    unit = _key_unit(vendor, problem)
    if vendor.staging is None:
        return unit
    tiling, size = warp_tiling(vendor, problem), itemsize(problem.dtype)
    widths = (problem.head_dim, problem.head_dim_v)
    return max(unit, *(tiling.warps * tiling.rows_copied_at_once(width, size) for width in widths))


def tile_sizes(vendor: Vendor, problem: AttentionProblem) -> TileSizes:
    """Return tiles of as many queries as the warps take, and fewer keys where rows of K and V are long.

    A problem of few queries is padded to as many as its warps take; one of few keys has a smaller tile, which
    its warps can share, and is padded to that.  Widths are padded to what instructions take.  Where there is
    enough work each warp has more than one band of rows (`harness.targets.gpu.tile_choice`).
    """
    problem = as_computed(vendor, problem)
    rows = _instruction(vendor, problem).m
    keys, multiple = most_keys(vendor, problem), key_multiple(vendor, problem)
    warps = most_warps(vendor, problem)
    return TileSizes(
        query=rows * warps * bands_of_warp(vendor, problem, keys, warps),
        key=max(multiple, min(keys, problem.seq_kv // multiple * multiple)),
        query_multiple=rows * warps_for(vendor, problem),
        least_keys=multiple,
        width_multiple=_key_unit(vendor, problem),
        materializes_score_rows=False,
        probability_shift=vendor.probability_shifts.get(problem.dtype, 0),
        workgroup_bytes=0 if vendor.staging is None else vendor.workgroup_shared_bytes or 0,
    )


def options_of(case: Case) -> GpuOptions:
    """Return what the options of the case's target are that every GPU has."""
    given = case.target_options
    general = {name: value for name, value in given.items() if name in GpuOptions.model_fields}
    return GpuOptions.model_validate(general)


def strategy(vendor: Vendor, case: Case) -> Strategy:
    """Return how the kernels of a case hold and move their tiles."""
    problem, sizes = as_computed(vendor, case.problem), tile_sizes(vendor, case.problem)
    queries, keys = (
        size if isinstance(size, int) else preferred
        for size, preferred in (
            (case.params.get("tile_q"), sizes.query),
            (case.params.get("tile_kv"), sizes.key),
        )
    )
    rows = sizes.query_multiple
    queries = min(queries, -(-problem.seq_q // rows) * rows)
    keys, parts = min(keys, problem.seq_kv), case.params.get("kv_splits")
    tile = WorkgroupTile(
        problem, vendor, queries, keys, warps_for(vendor, problem), parts if isinstance(parts, int) else 1
    )
    return choose(tile, options_of(case))


def why_unsupported(vendor: Vendor, problem: AttentionProblem) -> str | None:
    """Return None, or what of a problem does not fit warps and matrix instructions."""
    if problem.dtype not in vendor.matrix_instructions:
        known = ", ".join(vendor.matrix_instructions)
        return f"dtype {problem.dtype}: matrix instructions of {vendor.chip} take {known}"
    return None


def require_even_tiles(vendor: Vendor, case: Case) -> None:
    """Raise `UnsupportedError` for tiles, cut to the problem, that warps and instructions cannot share."""
    rows = most_warps(vendor, case.problem) * _instruction(vendor, case.problem).m
    keys = _key_unit(vendor, case.problem)
    problem = as_one_sequence(case.problem)
    units = {
        "tile_q": (problem.seq_q, rows, "queries, which the warps share"),
        "tile_kv": (problem.seq_kv, keys, "keys, as matrix instructions take them"),
    }
    for name, (length, unit, what) in units.items():
        size = case.params.get(name)
        is_padded = name == "tile_q" and isinstance(size, int) and size >= length
        if isinstance(size, int) and not is_padded and min(size, length) % unit:
            cut = f" (cut to {length})" if size > length else ""
            raise UnsupportedError(f"{name} {size}{cut}: expected a multiple of {unit} {what}")


def _with_padded_widths(vendor: Vendor, problem: AttentionProblem) -> AttentionProblem:
    unit = _key_unit(vendor, problem)
    widths = {name: -(-getattr(problem, name) // unit) * unit for name in ("head_dim", "head_dim_v")}
    return problem.model_copy(update=widths)


def _has_room(vendor: Vendor, problem: AttentionProblem, queries: int, keys: int) -> bool:
    """Return whether shared memory holds so many rows of Q, and after them a tile of K and V."""
    most = vendor.workgroup_shared_bytes
    tile = WorkgroupTile(problem, vendor, queries, keys, vendor.most_warps)
    return most is None or tile.shared_bytes(1, keeps_query=False) <= most


def _instruction(vendor: Vendor, problem: AttentionProblem) -> MatrixInstruction:
    return vendor.matrix_instructions[problem.dtype]


def _key_unit(vendor: Vendor, problem: AttentionProblem) -> int:
    """Return what keys and widths are multiples of: each is columns, depth or rows of some product."""
    instruction = _instruction(vendor, problem)
    return max(instruction.m, instruction.n, instruction.k)
