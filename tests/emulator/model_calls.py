"""Calls single models of device intrinsics, without the emulator's scheduler.

A vendor's C sources are compiled together with `model_shim.c`, which stands in for the runtime: findings,
accesses, copies and barriers are recorded as events.

    call = nvidia.call_lane("nvvm_fma_rn_f", [np.float32(2), np.float32(3), np.float32(4)], np.float32)
    assert call.value == 10
    call = nvidia.call_collective("nvvm_shfl_sync_bfly", [mask, values, distance, control], np.uint32)
    assert call.findings == ()
"""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import harness

EMULATOR = Path(harness.__file__).parent / "emulator"
SHIM = Path(__file__).parent / "model_shim.c"
FLAGS = ("-std=c11", "-O1", "-march=x86-64-v3", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
ARGUMENT_BYTES = 128
RESULT_BYTES = 256

Argument = np.generic | np.ndarray | bytes

EVENT_KINDS = (
    "finding",
    "access",
    "start_copy",
    "commit_copies",
    "wait_for_copies",
    "wait_for_all_copies",
    "clamped",
    "barrier_wait",
    "barrier_arrive",
    "barrier_wait_arrived",
)
"""`EventKind` of the shim, in order."""

FINDING_KINDS = {
    int(number): name
    for name, number in re.findall(
        r"FINDING_(\w+) = (\d+)", (EMULATOR / "runtime" / "emulator.h").read_text(encoding="utf-8")
    )
}
"""The names of `FindingKind` without their prefix, by number: `MEMBER_MASK`, `UNALIGNED`, …"""


class _CEvent(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("lane", ctypes.c_int32),
        ("detail", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("address", ctypes.c_void_p),
        ("source", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("source_bytes", ctypes.c_uint64),
        ("message", ctypes.c_char * 256),
    )


class _CLaunch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("workgroup", ctypes.c_uint32 * 3),
        ("warp_size", ctypes.c_int),
        ("implicit_arguments", ctypes.c_char_p),
    )


@dataclass(frozen=True)
class Launch:
    """The launch that a call of a model belongs to."""

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (64, 1, 1)
    workgroup: tuple[int, int, int] = (0, 0, 0)
    implicit_arguments: bytes | None = None


@dataclass(frozen=True)
class Memory:
    """Memory that the model may touch."""

    array: np.ndarray
    shared: bool = False
    writable: bool = True


class Finding(NamedTuple):
    """A mistake that a model reported."""

    kind: str
    lane: int
    message: str


class Event(NamedTuple):
    """What a model asked the runtime for; the fields are those of `_CEvent`."""

    kind: str
    """One of `EVENT_KINDS`."""
    lane: int
    detail: int
    """The number of a finding's kind or of a barrier; 1 for a store; groups of copies that stay pending."""
    threads: int
    address: int
    source: int
    bytes: int
    source_bytes: int
    message: str


class Call(NamedTuple):
    """What a call of a model gave."""

    value: np.ndarray
    """The result; of a collective model [lanes, …], with bytes 0xA5 in lanes that it left alone."""
    events: tuple[Event, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in order."""
        found = self.of_kind("finding")
        return tuple(Finding(FINDING_KINDS[event.detail], event.lane, event.message) for event in found)

    @property
    def finding_kinds(self) -> list[str]:
        """The kinds of the findings, each once, sorted."""
        return sorted({finding.kind for finding in self.findings})

    def of_kind(self, kind: str) -> list[Event]:
        """Return the events of one kind."""
        assert kind in EVENT_KINDS
        return [event for event in self.events if event.kind == kind]


class ModelLibrary:
    """The compiled models of one vendor."""

    def __init__(self, path: Path) -> None:
        self.loaded = ctypes.CDLL(str(path))
        self.loaded.shim_argument.restype = ctypes.c_void_p
        self.loaded.shim_result.restype = ctypes.c_void_p

    def call_lane(
        self,
        symbol: str,
        arguments: Sequence[Argument] = (),
        result: npt.DTypeLike | None = None,
        *,
        lane: int = 0,
        **options: Any,
    ) -> Call:
        """Call a lane model once; `result` is the type of its result, none for `void`."""
        self._begin(**options)
        for position, argument in enumerate(arguments):
            self._set(lane, position, _bytes(argument))
        self.loaded.shim_call_lane(self.loaded[symbol], ctypes.c_int(lane))
        return Call(self._results([lane], result)[0], self._events())

    def call_collective(
        self,
        symbol: str,
        arguments: Sequence[Argument] = (),
        result: npt.DTypeLike | None = None,
        *,
        active: int | None = None,
        **options: Any,
    ) -> Call:
        """Call a collective model for the lanes of a mask (all).

        An argument is an array [lanes, …], or one value (a NumPy scalar or bytes) that all lanes pass.
        """
        count = self._begin(**options)
        for position, argument in enumerate(arguments):
            for lane in range(count):
                own = argument[lane] if isinstance(argument, np.ndarray) else argument
                self._set(lane, position, _bytes(own))
        mask = (1 << count) - 1 if active is None else active
        self.loaded.shim_call_collective(self.loaded[symbol], ctypes.c_uint64(mask))
        return Call(self._results(list(range(count)), result), self._events())

    def map_lane(
        self, symbol: str, arguments: Sequence[np.ndarray], result: npt.DTypeLike, *, warp_size: int = 32
    ) -> np.ndarray:
        """Call a lane model once per row of its arguments, arrays [rows, …]; findings are not returned."""
        self._begin(warp_size=warp_size)
        rows = len(arguments[0])
        columns = [np.ascontiguousarray(argument) for argument in arguments]
        assert all(len(column) == rows for column in columns)
        out = np.zeros(rows, np.dtype(result))
        self.loaded.shim_map_lane(
            self.loaded[symbol],
            ctypes.c_size_t(rows),
            ctypes.c_int(len(columns)),
            (ctypes.c_void_p * len(columns))(*(column.ctypes.data for column in columns)),
            (ctypes.c_size_t * len(columns))(*(column.nbytes // max(rows, 1) for column in columns)),
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_size_t(np.dtype(result).itemsize),
        )
        return out

    def _begin(
        self,
        *,
        warp_size: int = 32,
        count: int | None = None,
        warp: int = 0,
        memory: Sequence[Memory] = (),
        launch: Launch | None = None,
    ) -> int:
        """Begin with a warp of so many lanes (all), which are returned."""
        count = warp_size if count is None else count
        self.loaded.shim_begin(warp_size, count, warp * warp_size)
        for part in memory:
            start, size = ctypes.c_void_p(part.array.ctypes.data), ctypes.c_size_t(part.array.nbytes)
            self.loaded.shim_memory(start, size, int(part.shared), int(part.writable))
        shape = launch or Launch()
        record = _CLaunch.in_dll(self.loaded, "launch")
        record.grid[:], record.block[:], record.workgroup[:] = shape.grid, shape.block, shape.workgroup
        record.warp_size = warp_size
        record.implicit_arguments = shape.implicit_arguments
        return count

    def _set(self, lane: int, position: int, content: bytes) -> None:
        assert len(content) <= ARGUMENT_BYTES
        ctypes.memmove(self.loaded.shim_argument(lane, position), content, len(content))

    def _results(self, lanes: list[int], result: npt.DTypeLike | None) -> np.ndarray:
        if result is None:
            return np.zeros((len(lanes), 0))
        dtype = np.dtype(result)
        assert dtype.itemsize <= RESULT_BYTES
        content = [ctypes.string_at(self.loaded.shim_result(lane), dtype.itemsize) for lane in lanes]
        return np.frombuffer(b"".join(content), dtype).copy()

    def _events(self) -> tuple[Event, ...]:
        count = ctypes.c_int.in_dll(self.loaded, "shim_event_count").value
        recorded = (_CEvent * count).in_dll(self.loaded, "shim_events")
        rows = ([getattr(event, name) for name in Event._fields] for event in recorded)
        return tuple(
            Event(
                EVENT_KINDS[kind], lane, detail, threads, address or 0, source or 0, *sizes, message.decode()
            )
            for kind, lane, detail, threads, address, source, *sizes, message in rows
        )


def compile_models(vendor: str, folder: Path) -> ModelLibrary:
    """Compile a vendor's models, `harness/emulator/models/<vendor>/*.c`, into a library in a folder."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    sources = sorted((EMULATOR / "models" / vendor).glob("*.c"))
    numbers = EMULATOR / "runtime" / "numbers.c"
    output = folder / f"{vendor}.so"
    include = f"-I{EMULATOR / 'runtime'}"
    command = [compiler, *FLAGS, include, "-o", str(output), *map(str, [*sources, numbers, SHIM]), "-lm"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return ModelLibrary(output)


def aligned_zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike, alignment: int = 128) -> np.ndarray:
    """Return zeros that begin at a multiple of `alignment` bytes."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    room = np.zeros(size + alignment, np.uint8)
    start = -room.ctypes.data % alignment
    return room[start : start + size].view(kind).reshape(shape)


def address(array: np.ndarray, offset: int = 0) -> np.uint64:
    """Return a pointer argument: the address of the byte at an offset of an array."""
    return np.uint64(array.ctypes.data + offset)


def _bytes(argument: Argument) -> bytes:
    return argument if isinstance(argument, bytes) else argument.tobytes()
