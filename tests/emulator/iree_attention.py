"""IREE's attention kernel for a GPU, as its LLVM back end gets it, launched without IREE's runtime."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hand_written import Run

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.oracle.expected import Expected, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.toolchains.iree import IreeTools
from harness.variants.baselines.iree import payload as iree_payload

CHIPS = ("sm_80", "gfx942", "gfx1100", "gfx1201")

PROBLEM = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")

_GRID = re.compile(
    r"range\(i32 0, (\d+)\) i32 @llvm\.(?:nvvm\.read\.ptx\.sreg\.ctaid|amdgcn\.workgroup\.id)\.x\(\)"
)
_SHARED_ARRAY = re.compile(r"addrspace\(3\) global \[(\d+) x \[(\d+) x half\]\]")


@dataclass(frozen=True)
class IreeAttention:
    """The kernel for one chip, with inputs and what must come out."""

    chip: str
    text: str
    """LLVM IR."""
    shared_bytes: int
    """Of the array whose size the launch gives, where there is one."""
    inputs: Inputs
    expected: Expected

    def compile(self, text: str | None = None) -> LoadedKernel:
        """Compile the kernel, or a changed copy of its text, and load it."""
        code = compile_for_emulator(self.text if text is None else text, device(self.chip))
        (kernel,) = code.load().values()
        return kernel

    def run(self, kernel: LoadedKernel, settings: LaunchSettings) -> Run:
        """Launch the kernel."""
        workgroups = _GRID.search(self.text)
        block = kernel.description.block
        assert workgroups is not None
        assert block is not None
        arrays = {"query": self.inputs.q, "key": self.inputs.k, "value": self.inputs.v}
        read = [DeviceBuffer.of(array, name) for name, array in arrays.items()]
        written = DeviceBuffer(self.inputs.q.nbytes, "output")
        grid = (int(workgroups[1]), 1, 1)
        try:
            report = launch(
                kernel, grid, block, [*read, written], shared_bytes=self.shared_bytes, settings=settings
            )
            output = written.view(np.dtype(np.float16), self.inputs.q.shape).copy()
        finally:
            for buffer in (*read, written):
                buffer.free()
        return Run(
            report,
            output,
            is_right=self.expected.check(output).ok,
            clamps_as_expected=(report.clamped_loads, report.clamped_stores) == (0, 0),
        )


def compile_attention(chip: str, folder: Path) -> IreeAttention:
    """Compile the attention op with IREE, in a folder."""
    payload = folder / "attention.mlir"
    payload.write_text(iree_payload.attention_op(PROBLEM), encoding="utf-8")
    is_nvidia = chip.startswith("sm_")
    target = f"--iree-{'cuda' if is_nvidia else 'rocm'}-target={chip}"
    backend = f"--iree-hal-target-device={'cuda' if is_nvidia else 'hip'}"
    dumps = f"--iree-hal-dump-executable-files-to={folder / 'dump'}"
    IreeTools().run("iree-compile", [payload, backend, target, dumps, "-o", folder / "attention.vmfb"])
    (optimized,) = (folder / "dump").glob("*.optimized.ll")
    (linked,) = (folder / "dump").glob("*.linked.ll")
    inputs = make_inputs(PROBLEM)
    return IreeAttention(
        chip=chip,
        text=optimized.read_text(encoding="utf-8"),
        shared_bytes=_dynamic_shared_bytes(linked.read_text(encoding="utf-8")) if is_nvidia else 0,
        inputs=inputs,
        expected=expect(inputs, PROBLEM),
    )


def _dynamic_shared_bytes(linked: str) -> int:
    """Return the size of all shared arrays, which IREE's last phase puts into one."""
    return sum(2 * int(rows) * int(columns) for rows, columns in _SHARED_ARRAY.findall(linked))
