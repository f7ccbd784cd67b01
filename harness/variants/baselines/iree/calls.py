"""Loads and calls IREE modules; imported only in the process that runs them."""

import math
import os
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import iree.runtime
import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.emulator.drivers.stub import is_emulated
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.system.errors import HarnessError, UnsupportedError
from harness.variants.baselines.heap import keep_heap_warm
from harness.variants.baselines.iree.payload import mask_operand_shape
from harness.variants.baselines.masks import some_query_sees_no_key, visible_keys, without_padding

_task_process: int | None = None
"""The process that has the threads of the local-task driver; none of its forks has them."""
_task_workers: int | None = None
"""Worker threads of this process's local-task driver; fixed when the driver is first made."""

HIDING_BIAS = -float(np.finfo(np.float32).max) * math.log(2)
"""Bias that is −∞ in the attention op, which multiplies it by log2 e before it takes a row's maximum."""

ELEMENT_TYPES = {
    np.dtype(np.float32): iree.runtime.HalElementType.FLOAT_32,
    np.dtype(np.float16): iree.runtime.HalElementType.FLOAT_16,
    numpy_dtype("bf16"): iree.runtime.HalElementType.BFLOAT_16,
    np.dtype(bool): iree.runtime.HalElementType.BOOL_8,
}


def load(artifact: Artifact, folder: Path) -> "OnProcessor":
    """Load the module for the CPU, with the artifact's number of threads.

    One thread runs on the caller's thread (`local-sync`), more on IREE's task system (`local-task`), whose
    number of workers is fixed for the life of the process.
    """
    return OnProcessor(artifact, folder, int(artifact.launch["threads"]))


def load_on_device(artifact: Artifact, folder: Path) -> "IreeExecutable":
    """Load the module for the GPU of IREE's driver `cuda` or `hip`, which the artifact names."""
    driver = artifact.launch["driver"]
    if is_emulated(driver):
        raise HarnessError(f"the driver {driver} is emulated in this process; use a new one for the device")
    return IreeExecutable(artifact, folder, iree.runtime.get_device(driver))


def open_cpu(threads: int) -> iree.runtime.HalDevice:
    """Return IREE's CPU device with this many threads; raises `HarnessError` for a second number."""
    global _task_workers, _task_process
    if threads == 1:
        return iree.runtime.get_device("local-sync")
    if _task_workers is None:
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        _task_workers, _task_process = threads, os.getpid()
    if _task_workers != threads:
        raise HarnessError(
            f"IREE runs with {_task_workers} threads in this process and cannot change to {threads}; "
            "use a new process"
        )
    _require_task_threads()
    return iree.runtime.get_device("local-task")


def _require_task_threads() -> None:
    """Raise `HarnessError` in a fork of the process that has IREE's threads: it would wait for ever."""
    if _task_process != os.getpid():
        raise HarnessError(
            "IREE's threads do not live on in a forked process: call it there with 1 thread, or start "
            "processes by multiprocessing's 'spawn'"
        )


class IreeExecutable(Executable):
    """A function of a loaded IREE module."""

    def __init__(self, artifact: Artifact, folder: Path, device: iree.runtime.HalDevice) -> None:
        self.problem = artifact.case.problem
        self._lock = threading.RLock()
        self.operands = artifact.launch["operands"]
        self.device = device
        self.instance = iree.runtime.VmInstance()
        module = (folder / artifact.launch["module"]).read_bytes()
        code = iree.runtime.VmModule.copy_buffer(self.instance, module)
        hal = iree.runtime.create_hal_module(self.instance, device)
        self.context = iree.runtime.VmContext(self.instance, modules=[hal, code])
        self.function = code.lookup_function(artifact.launch["function"])

    def invoke(self, arguments: iree.runtime.VmVariantList) -> iree.runtime.VmVariantList:
        """Call the function once; returns when the results are there."""
        results = iree.runtime.VmVariantList(1)
        self.context.invoke(self.function, arguments, results)
        return results

    def bind(self, inputs: Inputs) -> BoundCall:
        """Copy the inputs to IREE's buffers, with zeros where keys and values are padding.

        Raises `UnsupportedError` when mask or bias leave a query no key that IREE sees: the result would be
        NaN.
        """
        visible = visible_keys(self.problem, inputs.mask)
        if some_query_sees_no_key(self.problem, inputs, visible):
            raise UnsupportedError("IREE gives NaN for a query that sees no key")
        is_attention_op = "masked_bias" in self.operands
        if is_attention_op and some_query_sees_no_key(self.problem, inputs, visible, hiding=HIDING_BIAS):
            raise UnsupportedError(
                f"IREE's attention op gives NaN for a query whose bias is {HIDING_BIAS:.2g} or less for "
                "all keys"
            )
        inputs = without_padding(self.problem, inputs)
        views = [self.to_device(operand_array(self.problem, name, inputs, visible)) for name in self.operands]
        return IreeCall(self, views)

    def turn(self) -> AbstractContextManager[object]:
        """Wait for other threads: IREE's contexts are for one at a time."""
        return self._lock

    def to_device(self, array: np.ndarray) -> iree.runtime.HalBufferView:
        """Copy an array; its bytes go over as they are, because NumPy's bfloat16 is unknown to IREE."""
        buffer = self.device.allocator.allocate_buffer_copy(
            memory_type=iree.runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=iree.runtime.BufferUsage.DEFAULT,
            device=self.device,
            buffer=np.ascontiguousarray(array).reshape(-1).view(np.uint8),
        )
        return iree.runtime.HalBufferView(buffer, array.shape, ELEMENT_TYPES[array.dtype])

    def to_host(self, view: iree.runtime.HalBufferView) -> np.ndarray:
        """Return a copy of a buffer's bytes, whether the host can map the buffer or not."""
        size = view.byte_length
        raw = iree.runtime.HalBufferView(view.get_buffer(), (size,), iree.runtime.HalElementType.UINT_8)
        return iree.runtime.DeviceArray(self.device, raw).to_host().copy()


class OnProcessor(IreeExecutable):
    """A module whose code is called on this processor."""

    def __init__(self, artifact: Artifact, folder: Path, threads: int) -> None:
        super().__init__(artifact, folder, open_cpu(threads))
        self._threads = threads

    def invoke(self, arguments: iree.runtime.VmVariantList) -> iree.runtime.VmVariantList:
        """Call the function once; raises `HarnessError` in a fork that lacks the threads it needs."""
        if self._threads != 1:
            _require_task_threads()
        return super().invoke(arguments)

    def take_process(self) -> None:
        """Keep the heap warm."""
        keep_heap_warm()


class IreeCall(BoundCall):
    """One call with its arguments packed; IREE allocates scores and output anew each time."""

    def __init__(self, executable: IreeExecutable, views: list[iree.runtime.HalBufferView]) -> None:
        self.executable = executable
        self.views = views
        self.arguments = iree.runtime.VmVariantList(len(views))
        for view in views:
            self.arguments.push_ref(view.ref)
        self.results: iree.runtime.VmVariantList | None = None

    def poison(self) -> None:
        """Forget the last output: its memory belongs to IREE and there is none to fill beforehand."""
        self.results = None

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V to where those lie that it is bound to, if the host can map that memory."""
        problem = self.executable.problem
        inputs = without_padding(problem, inputs)
        try:
            for name, view in zip(self.executable.operands, self.views, strict=True):
                if name in ("q", "k", "v"):
                    _overwrite(view, operand_array(problem, name, inputs, None))
        except (RuntimeError, ValueError):
            return False
        return True

    def run(self) -> None:
        """Call the function once; returns when the result is there."""
        self.results = self.executable.invoke(self.arguments)

    def output(self) -> np.ndarray:
        """Return a copy of the last output."""
        if self.results is None:
            raise RuntimeError("output() before run()")
        problem = self.executable.problem
        flat = self.executable.to_host(self.results.get_as_object(0, iree.runtime.HalBufferView))
        return flat.view(numpy_dtype(problem.dtype)).reshape(problem.output_shape)


def _overwrite(view: iree.runtime.HalBufferView, array: np.ndarray) -> None:
    """Copy an array's bytes to a buffer that the host can map."""
    raw = iree.runtime.HalBufferView(view.get_buffer(), (array.nbytes,), iree.runtime.HalElementType.UINT_8)
    mapped = raw.map().asarray((array.nbytes,), np.dtype(np.uint8))
    mapped[...] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def operand_array(
    problem: AttentionProblem, name: str, inputs: Inputs, visible: np.ndarray | None
) -> np.ndarray:
    """Return the array of one operand that `iree_payload` names, in the operand's shape."""
    if name == "q":
        return inputs.q.reshape(problem.batch, problem.kv_heads, problem.group_size, *inputs.q.shape[-2:])
    if name == "k":
        return inputs.k
    if name == "v":
        return inputs.v
    if name == "mask" and visible is not None:
        return visible.reshape(mask_operand_shape(problem))
    bias = np.asarray(inputs.bias)
    if name == "masked_bias" and visible is not None:
        bias = np.where(visible, bias, np.array(-np.inf, dtype=bias.dtype))
    scores = (problem.batch, problem.heads, problem.seq_q, problem.seq_kv)
    grouped = (problem.batch, problem.kv_heads, problem.group_size, problem.seq_q, problem.seq_kv)
    return np.broadcast_to(bias, scores).reshape(grouped)
