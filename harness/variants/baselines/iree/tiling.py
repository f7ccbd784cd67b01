"""How IREE tiles an attention op: its choice on a GPU, read and changed, and the one for a processor."""

import math
import re
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from harness.experiment.searched import Searched
from harness.problem.case import ParameterValue
from harness.system.errors import BuildError
from harness.variants.base import Parameters
from harness.variants.baselines.iree.transforms import script

OPERATION = "iree_linalg_ext.online_attention"
WORKGROUP, REDUCTION, SUBGROUPS = "workgroup = [", "reduction = [", "subgroup_basis = [["
"""How IREE's lists of sizes begin, which have an entry for each dimension of the op."""

BRACKETS = {"<": ">", "{": "}", "[": "]", "(": ")"}

POWERS = (16, 32, 64, 128, 256)
"""Sizes of tiles that a search chooses from."""

WIDEST_ROW = 128
"""Columns of the output up to which a workgroup has registers and shared memory for whole rows."""

NO_MATRIX_INSTRUCTION = (
    "IREE chose no matrix instruction for this problem, and only tiles for matrix instructions can be set"
)


class IreeTiles(Parameters):
    """Tiles and layouts of IREE's attention op.

    On a GPU what is not set IREE chooses, but for `tile_v`: workgroups compute whole rows, where they have
    the room.  On a processor tiles are those of vectors: by default the best that are known, because with
    IREE's own choice of one query each product is done ten times as slowly.
    """

    tile_q: Annotated[int | None, Searched(POWERS)] = Field(default=None, ge=1, le=1024)
    """Queries of a workgroup, on a processor of a tile of vectors."""
    tile_kv: Annotated[int | None, Searched(POWERS)] = Field(default=None, ge=1, le=4096)
    """Keys of one step of its loop."""
    tile_v: Annotated[int | None, Searched(POWERS)] = Field(default=None, ge=1, le=1024)
    """Columns of V, and of the output, of a workgroup; fewer than there are repeats the scores."""
    subgroups: Annotated[int | None, Searched((1, 2, 4, 8))] = Field(default=None, ge=1, le=32)
    """Warps or waves of a workgroup, which share its queries; on GPUs."""
    intrinsic: str | None = Field(default=None, pattern=r"^\w+_\d+x\d+x\d+\w*_\w+$")
    """Matrix instruction of both products, by IREE's name, such as `MFMA_F32_32x32x8_F16`; on GPUs."""

    @property
    def names_set(self) -> str:
        """What is left to IREE no more, by name; empty if all is."""
        return ", ".join(name for name in IreeTiles.model_fields if getattr(self, name) is not None)


@dataclass(frozen=True)
class Roles:
    """Positions among the loops of an attention op."""

    queries: int
    keys: int
    columns: int
    output: tuple[int, ...]
    """Those along the output."""
    loops: int


@dataclass(frozen=True)
class Configuration:
    """IREE's choice for a dispatch with an attention op: attributes, as text."""

    roles: Roles
    """Of the loops of the op, which are its dimensions."""
    lowering: str
    """Tiles, one size for each dimension; 0 is not tiled."""
    decomposition: str
    """Layouts of the products Q·Kᵀ and P·V."""
    translation: str
    """Threads, and the pipeline of passes that follows."""

    @property
    def workgroup_tiles(self) -> list[int]:
        """Return the tile of a workgroup."""
        return _sizes(self.lowering, WORKGROUP) or []

    @property
    def key_tiles(self) -> list[int]:
        """Return the tile of one step over the keys."""
        return _sizes(self.lowering, REDUCTION) or _sizes(self.lowering, f"partial_{REDUCTION}") or []

    @property
    def tiles(self) -> IreeTiles | None:
        """Return the tiles as parameters say them, without an instruction where the two products have two.

        None where there are no matrix instructions.
        """
        instructions = set(re.findall(r"#iree_gpu\.(?:virtual_)?mma_layout<(\w+)", self.decomposition))
        subgroups = _sizes(self.decomposition, SUBGROUPS)
        if not instructions or subgroups is None:
            return None
        return IreeTiles(
            tile_q=self.workgroup_tiles[self.roles.queries],
            tile_kv=self.key_tiles[self.roles.keys],
            tile_v=self.workgroup_tiles[self.roles.columns],
            subgroups=subgroups[self.roles.queries],
            intrinsic=instructions.pop() if len(instructions) == 1 else None,
        )

    def left_open(self, parameters: IreeTiles) -> dict[str, ParameterValue]:
        """Return the tiles that parameters leave open."""
        chosen = {} if self.tiles is None else self.tiles.model_dump(exclude_none=True)
        return {name: value for name, value in chosen.items() if getattr(parameters, name) is None}

    def with_whole_rows(self, columns: int) -> "Configuration":
        """Return the configuration with workgroups that compute all columns of the output.

        IREE's own choice computes 32 or 64 in one, and the same scores in each: with 128 columns up to four
        times.  Where it chose no matrix instruction, or rows are too wide, nothing changes.
        """
        chosen = self.tiles
        if chosen is None or columns > WIDEST_ROW or not chosen.tile_v or columns % chosen.tile_v:
            return self
        return self.changed(IreeTiles(tile_v=columns))

    def changed(self, tiles: IreeTiles) -> "Configuration":
        """Return the configuration with what is set.

        Raises `BuildError` where it has no such tiles, or they do not fit together.
        """
        if not tiles.names_set:
            return self
        if "mma_kind" not in self.decomposition:
            raise BuildError(NO_MATRIX_INSTRUCTION)
        lowering = _with_size(self.lowering, WORKGROUP, self.roles.queries, tiles.tile_q)
        lowering = _with_size(lowering, WORKGROUP, self.roles.columns, tiles.tile_v)
        lowering = _with_size(lowering, REDUCTION, self.roles.keys, tiles.tile_kv)
        decomposition = _with_size(self.decomposition, SUBGROUPS, self.roles.queries, tiles.subgroups)
        if tiles.intrinsic is not None:
            layout = f"#iree_gpu.mma_layout<{tiles.intrinsic}"
            decomposition = re.sub(r"#iree_gpu\.(?:virtual_)?mma_layout<\w+", layout, decomposition)
        translation = self.translation
        if tiles.subgroups is not None:
            lanes = int(re.findall(r"subgroup_size = (\d+)", translation)[0])
            translation = _with_size(translation, "workgroup_size = [", 0, tiles.subgroups * lanes)
        changed = replace(self, lowering=lowering, decomposition=decomposition, translation=translation)
        changed.require_whole_instructions()
        return changed

    def require_whole_instructions(self) -> None:
        """Raise `BuildError` unless the queries of a workgroup are shared out to its subgroups evenly.

        IREE compiles such tiles all the same; its subgroups then read what no tile holds.
        """
        queries = self.workgroup_tiles[self.roles.queries]
        subgroups = (_sizes(self.decomposition, SUBGROUPS) or [1])[self.roles.queries]
        rows = max(int(rows) for rows in re.findall(r"mma_layout<\w*?_(\d+)x\d+x\d+", self.decomposition))
        if queries % (subgroups * rows) != 0:
            raise BuildError(
                f"a tile of {queries} queries cannot be shared by {subgroups} subgroups whose matrix"
                f" instructions have {rows} rows"
            )

    def tuning_script(self) -> str:
        """Return the transform script that puts this in the place of IREE's choice."""
        return script(
            "tuned",
            lowering=self.lowering,
            decomposition=self.decomposition,
            translation=self.translation,
        )


def configuration(configured: str) -> Configuration:
    """Return the choice that stands in the IR of the stage `configured`.

    Raises `BuildError` where IREE kept no attention op, or chose nothing for it.
    """
    roles = roles_in(configured)
    before, _, op = configured.partition(f"{OPERATION} ")
    try:
        properties = bracketed(op)
        attributes = bracketed(op[len(properties) :])
        return Configuration(
            roles=roles,
            lowering=attribute(attributes, "lowering_config"),
            decomposition=attribute(properties, "decomposition_config"),
            translation=attribute(before.rpartition("func.func")[2], "translation_info"),
        )
    except ValueError as error:
        raise BuildError(f"IREE's choice for the attention op cannot be read: {error}") from error


def attribute(text: str, name: str) -> str:
    """Return the value of an attribute; raises `ValueError` if the text has none of this name."""
    match = re.search(rf"\b{name} = ", text)
    if match is None:
        raise ValueError(f"no {name}")
    value = text[match.end() :]
    opening = re.search(r"[<{\[(]", value)
    if opening is None:
        raise ValueError(f"no value of {name}")
    return value[: opening.start()] + bracketed(value)


def bracketed(text: str) -> str:
    """Return what stands between the first bracket and the one that closes it, both included."""
    start = re.search(r"[<{\[(]", text)
    closing: list[str] = []
    for token in re.finditer(r"->|[<{\[(>}\])]", text):
        if token[0] in BRACKETS:
            closing.append(BRACKETS[token[0]])
        elif closing and token[0] == closing[-1]:
            closing.pop()
            if not closing and start is not None:
                return text[start.start() : token.end()]
    raise ValueError("a bracket is not closed")


PROCESSOR_TILES = {64: (16, 32), 128: (8, 16), math.inf: (8, 8)}
"""Queries and keys of the best tiles that are known on a processor, by the widest head that they are for.

Larger ones are up to 1.3 times as fast, but IREE takes minutes to compile vectors of theirs.
"""

PROCESSOR_WORKGROUP = 64
"""Queries of a workgroup on a processor, about."""


def processor_script(configured: str, tiles: IreeTiles) -> str:
    """Return the transform script that sets all tiles of an attention op on a processor.

    `tiles` have sizes of queries, keys and columns.  `configured` is the IR of the stage of this name.
    """
    roles = roles_in(configured)
    rows = tiles.tile_q or 1

    def sizes(**of_roles: int | None) -> str:
        single = dict.fromkeys(roles.output, 1) if "queries" in of_roles else {}
        named = {getattr(roles, role): size for role, size in of_roles.items()}
        return ", ".join(str((single | named).get(loop, 0)) for loop in range(roles.loops))

    workgroup = sizes(queries=max(PROCESSOR_WORKGROUP // rows, 1) * rows, columns=tiles.tile_v)
    parallel = sizes(queries=rows, columns=tiles.tile_v)
    lowering = (
        f"#iree_cpu.lowering_config<distribution = [{workgroup}], vector_common_parallel = [{parallel}],"
        f" vector_reduction = [{sizes(keys=tiles.tile_kv)}]>"
    )
    return script("tuned", lowering=lowering)


LEAST_OPERANDS = 4
"""Of the op: queries, keys, values and the output."""


def roles_in(configured: str) -> Roles:
    """Return the roles of the loops of the attention op in the IR of the stage `configured`.

    Raises `BuildError` where IREE kept none.
    """
    _, separator, op = configured.partition(f"{OPERATION} ")
    try:
        if not separator:
            raise ValueError(f"no {OPERATION}")
        return _roles(attribute(bracketed(op), "indexing_maps"))
    except ValueError as error:
        raise BuildError(f"IREE's choice for the attention op cannot be read: {error}") from error


def _roles(maps: str) -> Roles:
    """Return which loops are queries, keys and output columns, by which operands they index."""
    map_results = re.findall(r"affine_map<\([^)]*\) -> \(([^)]*)\)>", maps)
    operands = [[int(dim) for dim in re.findall(r"d(\d+)", results)] for results in map_results]
    if len(operands) < LEAST_OPERANDS:
        raise ValueError(f"indexing maps {maps}")
    query, key, value, output = operands[0], operands[1], operands[2], operands[-3]
    queries = [dim for dim in output if dim in query and dim not in key]
    keys = [dim for dim in key if dim in value and dim not in query]
    columns = [dim for dim in output if dim in value and dim not in query]
    if not (queries and keys and columns):
        raise ValueError(f"indexing maps {maps}")
    loops = 1 + max(dim for operand in operands for dim in operand)
    return Roles(queries[-1], keys[-1], columns[-1], tuple(output), loops)


def _sizes(text: str, start: str) -> list[int] | None:
    """Return the list of sizes that begins with `start`."""
    match = re.search(rf"\b{re.escape(start)}([\d, ]+)", text)
    return [int(size) for size in match[1].split(", ")] if match else None


def _with_size(text: str, start: str, position: int, size: int | None) -> str:
    """Return the text with one entry of the list of sizes that begins with `start` replaced, each time."""
    if size is None:
        return text

    def changed(match: re.Match[str]) -> str:
        sizes = match[2].split(", ")
        sizes[position] = str(size)
        return match[1] + ", ".join(sizes)

    return re.sub(rf"(\b{re.escape(start)})([\d, ]+)", changed, text)
