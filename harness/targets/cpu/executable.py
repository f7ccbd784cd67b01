"""The executor `native`: kernels loaded from an object file and called from Python threads.

ctypes releases the interpreter's lock during a call, so that plain Python threads, each calling the kernel
on parts of the grid, keep all cores busy without a runtime library.
"""

import ctypes
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import CHANGING
from harness.problem.dtypes import buffer_dtype
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.system.errors import HarnessError, memory_for
from harness.system.machine.placement import placement
from harness.system.machine.poison import poison
from harness.targets.cpu.chip import chip
from harness.targets.cpu.launch import OBJECT_FILE, Kernel, Launch
from harness.targets.cpu.object_code import target_machine
from harness.targets.cpu.tile_permission import ask_for_tiles
from harness.targets.lowering.buffers import checked_input, part_of

CHUNKS_PER_THREAD = 8
"""Grid ranges that each thread takes one after another, so that uneven tiles (causal) balance out."""


def load(artifact: Artifact, folder: Path) -> "NativeExecutable":
    """Load an artifact of the CPU target into this process."""
    launch = Launch.model_validate(artifact.launch)
    if launch.asks_for_tiles:
        ask_for_tiles()
    return NativeExecutable(artifact.case.problem, launch, folder / OBJECT_FILE)


class NativeExecutable(Executable):
    """Kernels in this process's memory."""

    def __init__(self, problem: AttentionProblem, launch: Launch, object_file: Path) -> None:
        self.problem = problem
        self.launch = launch
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(chip("host")))
        self._engine.add_object_file(str(object_file))
        self._engine.finalize_object()
        self._functions = {
            kernel.name: _function(self._engine.get_function_address(kernel.name), len(kernel.buffers))
            for kernel in launch.kernels
        }

    def bind(self, inputs: Inputs) -> "NativeCall":
        """Check the inputs' shapes and dtypes and allocate output, workspaces and scratch memory.

        Raises `OutOfMemoryError` where the system gives none for one of these.
        """
        arrays = inputs.buffers(self.problem)
        buffers: dict[str, np.ndarray] = {}
        for name, buffer in self.launch.buffers.items():
            if buffer.is_input:
                buffers[name] = checked_input(arrays, buffer)
            else:
                with memory_for(buffer.need):
                    shape = buffer.memory_shape(self.problem.q_shape[0])
                    buffers[name] = placement.empty(shape, buffer_dtype(buffer.dtype))
        return NativeCall(self, buffers, inputs)

    def function(self, kernel: Kernel) -> "ctypes._FuncPointer":
        """Return a kernel's entry point, `(buffers …, first, end, scratch)`."""
        return self._functions[kernel.name]


class NativeCall(BoundCall):
    """Kernels bound to arrays."""

    def __init__(self, executable: NativeExecutable, buffers: dict[str, np.ndarray], inputs: Inputs) -> None:
        self._executable = executable  # owns the loaded code
        self._buffers = buffers
        self._paging = inputs.paging
        launch = executable.launch
        self._inputs = [buffer for buffer in launch.buffers.values() if buffer.is_input]
        self._outputs = [name for name, buffer in launch.buffers.items() if buffer.is_output]
        self._workspaces = [name for name, buffer in launch.buffers.items() if buffer.is_workspace]
        self._kernels = [
            (
                kernel.runs(executable.problem.q_shape[0]),
                executable.function(kernel),
                [buffers[buffer.name].ctypes.data for buffer in kernel.buffers],
            )
            for kernel in launch.kernels
        ]
        largest = max(kernel.scratch_bytes for kernel in launch.kernels)
        gigabytes = f"{largest * launch.threads / 1e9:.3g} GB"
        with memory_for(f"the scratch memory of threads={launch.threads} takes {gigabytes}"):
            self._scratch = [placement.empty((largest,), np.dtype(np.uint8)) for _ in range(launch.threads)]
        self._pool = self._new_pool()
        self._process = os.getpid()

    @property
    def scratch(self) -> np.ndarray:
        """The scratch memory of the first thread, bytes."""
        return self._scratch[0]

    def poison(self) -> None:
        """Fill output, workspaces and scratch memory with NaN."""
        self.poison_outputs()
        for name in self._workspaces:
            poison(self._buffers[name])
        for scratch in self._scratch:
            poison(scratch.view(np.float32))

    def poison_outputs(self) -> None:
        """Fill outputs with NaN."""
        for name in self._outputs:
            poison(self._buffers[name])

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy inputs that change to where those lie that are read, unless these are the same arrays."""
        arrays = replace(inputs, paging=self._paging).buffers(self._executable.problem)
        for buffer in (buffer for buffer in self._inputs if buffer.name in CHANGING):
            array, own = checked_input(arrays, buffer), self._buffers[buffer.name]
            if array.ctypes.data != own.ctypes.data:
                own[...] = array
        return True

    def run(self) -> None:
        """Run the kernels one after another, each on all threads."""
        if self._process != os.getpid():  # a fork has none of its parent's threads
            self._pool, self._process = self._new_pool(), os.getpid()
        for runs, function, pointers in self._kernels:
            if self._pool is None:
                _run_ranges(function, pointers, self._scratch[0], iter(runs), self)
            else:
                self._run_on_threads(self._pool, runs, function, pointers)

    def _run_on_threads(
        self,
        pool: ThreadPoolExecutor,
        runs: Sequence[range],
        function: "ctypes._FuncPointer",
        pointers: list[int],
    ) -> None:
        """Run a kernel on all threads; what ends that early, Ctrl-C too, ends it when no thread computes."""
        ranges = _ranges(runs, len(self._scratch) * CHUNKS_PER_THREAD)
        others: list[Future[None]] = []
        try:
            for scratch in self._scratch[1:]:
                others.append(self._submitted(pool, function, pointers, scratch, ranges))
            _run_ranges(function, pointers, self._scratch[0], ranges, self)
            for other in others:
                other.result()
        except BaseException:
            for _ in ranges:
                pass  # so that no thread begins another
            wait(others)
            raise

    def _submitted(
        self,
        pool: ThreadPoolExecutor,
        function: "ctypes._FuncPointer",
        pointers: list[int],
        scratch: np.ndarray,
        ranges: Iterator[range],
    ) -> "Future[None]":
        """Let a thread of the pool take part; raises `HarnessError` where the system starts no more."""
        try:
            return pool.submit(_run_ranges, function, pointers, scratch, ranges, self)
        except RuntimeError as error:
            threads = len(self._scratch)
            raise HarnessError(f"cannot start {threads} threads: {error}; ask for fewer") from error

    def _new_pool(self) -> ThreadPoolExecutor | None:
        others = len(self._scratch) - 1
        return ThreadPoolExecutor(others) if others else None

    def output(self) -> np.ndarray:
        """Return the output array of the last run, a copy."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return the arrays of all outputs of the last run, copies."""
        return {name: array.copy() for name, array in self.last_outputs().items()}

    def last_outputs(self) -> dict[str, np.ndarray]:
        """Return the arrays that kernels have written, contiguous."""
        outputs = self._executable.problem.outputs()
        parts = {name: part_of(self._buffers[name], outputs[name].shape) for name in self._outputs}
        return {name: np.ascontiguousarray(part) for name, part in parts.items()}


def _run_ranges(
    function: "ctypes._FuncPointer",
    pointers: list[int],
    scratch: np.ndarray,
    ranges: Iterator[range],
    owner: NativeCall,
) -> None:
    """Run a kernel on ranges of its grid until none is left, with one thread's scratch memory.

    The thread keeps `owner`, whose the code and the buffers are, alive as long as it computes.
    """
    scratch_pointer = scratch.ctypes.data
    for points in ranges:
        function(*pointers, points.start, points.stop, scratch_pointer)


def _ranges(runs: Sequence[range], count: int) -> Iterator[range]:
    """Cut runs of points into some `count` ranges, which threads draw from: C code makes that safe."""
    size = max(1, -(-sum(map(len, runs)) // count))
    return iter([run[first : first + size] for run in runs for first in range(0, len(run), size)])


def _function(address: int, buffers: int) -> "ctypes._FuncPointer":
    arguments = [ctypes.c_void_p] * buffers + [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    return ctypes.CFUNCTYPE(None, *arguments)(address)
