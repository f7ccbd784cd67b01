"""Attention kernels that this harness generates for GPUs, as LLVM's back end gets them."""

import functools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hand_written import Run

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.findings import Report
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.oracle.expected import Expected, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs, make_inputs
from harness.targets.gpu.launch import GpuLaunch

CAUSAL = AttentionProblem(heads=1, seq_q=256, head_dim=64, dtype="f16", causal=True)
SINGLE_PRECISION = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f32")
FEW_QUERIES = AttentionProblem(heads=1, seq_q=10, seq_kv=256, head_dim=64, dtype="f16")
RAGGED = AttentionProblem(heads=1, seq_q=100, seq_kv=150, head_dim=64, dtype="f16")
WIDE = AttentionProblem(heads=1, seq_q=128, head_dim=128, dtype="f16")
NARROW = AttentionProblem(heads=1, seq_q=128, seq_kv=192, head_dim=32, dtype="f16", causal=True)

Settings = dict[str, ParameterValue]
Clamped = list[tuple[int, int]]
"""Loads and stores of each launch."""


@dataclass(frozen=True)
class Form:
    """What kernels are generated from, and for which GPU."""

    variant: str
    problem: AttentionProblem
    params: Settings = field(default_factory=dict)
    options: Settings = field(default_factory=dict)
    """Of the target."""
    target: str = "cuda:sm_80"

    @property
    def chip(self) -> str:
        """The GPU."""
        return self.target.partition(":")[2]


DIRECT: Settings = {"prefetches": "none"}
LARGE_TILES: Settings = {"query_operand": "shared-memory", "staging_slots": 1}

GENERATED: dict[str, Form] = {
    "flash": Form("flash", CAUSAL),
    "naive": Form("naive", CAUSAL),
    "unfused": Form("unfused", CAUSAL),
    "flash of 10 queries": Form("flash", FEW_QUERIES),
    "flash in f32": Form("flash", SINGLE_PRECISION),
    "flash of 10 queries in parts": Form("flash", FEW_QUERIES, {"kv_splits": 2}),
    "flash in large tiles": Form("flash", CAUSAL, {"tile_q": 128}, LARGE_TILES),
    "flash by MFMA": Form("flash", CAUSAL, target="rocm:gfx942"),
    "flash by MFMA of lengths that no tile divides": Form("flash", RAGGED, target="rocm:gfx942"),
    "flash by MFMA in two slots": Form("flash", CAUSAL, {}, {"staging_slots": 2}, target="rocm:gfx942"),
    "flash by MFMA of wide rows": Form("flash", WIDE, target="rocm:gfx942"),
    "flash by deep MFMA": Form("flash", NARROW, target="rocm:gfx950"),
    "flash by replicated WMMA": Form("flash", NARROW, target="rocm:gfx1100"),
    "flash by WMMA": Form("flash", NARROW, target="rocm:gfx1201"),
    "unfused by MFMA": Form("unfused", RAGGED, target="rocm:gfx942"),
    "flash by dpas": Form("flash", NARROW, {}, DIRECT, target="xegpu:bmg"),
    "flash by dpas of 10 queries": Form("flash", FEW_QUERIES, {"kv_splits": 1}, DIRECT, target="xegpu:bmg"),
    "unfused by dpas": Form("unfused", RAGGED, {}, DIRECT, target="xegpu:pvc"),
    "flash by dpas with prefetches": Form("flash", NARROW, target="xegpu:bmg"),
}
"""What the kernels of each name are generated from."""


@dataclass(frozen=True)
class GeneratedAttention:
    """The kernels of one variant, with inputs and what must come out."""

    problem: AttentionProblem
    text: str
    """LLVM IR."""
    plan: GpuLaunch
    inputs: Inputs
    expected: Expected
    chip: str

    def compile(self, text: str | None = None) -> dict[str, LoadedKernel]:
        """Compile the kernels, or a changed copy of their text, and load them."""
        return compile_for_emulator(self.text if text is None else text, device(self.chip)).load()

    @functools.cached_property
    def clamped(self) -> Clamped:
        """Accesses that hardware clamps in each launch of the kernels as they are."""
        return _clamped(self._launched(self.compile(), LaunchSettings())[0])

    def run(self, kernels: dict[str, LoadedKernel], settings: LaunchSettings) -> Run:
        """Launch the kernels one after another; the report has the findings of all."""
        reports, output = self._launched(kernels, settings)
        findings = tuple(finding for report in reports for finding in report.findings)
        return Run(
            reports[-1].model_copy(update={"findings": findings}),
            output,
            is_right=self.expected.check(output).ok,
            clamps_as_expected=_clamped(reports) == self.clamped,
        )

    def _launched(
        self, kernels: dict[str, LoadedKernel], settings: LaunchSettings
    ) -> tuple[list[Report], np.ndarray]:
        """Launch the kernels on memory of their own; return what each did, and the output."""
        given = self.inputs.buffers(self.problem)
        memory = {
            name: DeviceBuffer.of(given[name], name) if buffer.is_input else DeviceBuffer(buffer.bytes, name)
            for name, buffer in self.plan.buffers.items()
        }
        reports: list[Report] = []
        try:
            for kernel in self.plan.kernels:
                report = launch(
                    kernels[kernel.name],
                    (kernel.grid, 1, 1),
                    (kernel.threads, 1, 1),
                    [memory[buffer.name] for buffer in kernel.buffers],
                    shared_bytes=kernel.shared_bytes,
                    settings=settings,
                )
                reports.append(report)
            output = memory["output"].view(numpy_dtype(self.problem.dtype), self.problem.output_shape).copy()
        finally:
            for buffer in memory.values():
                buffer.free()
        return reports, output


def _clamped(reports: Sequence[Report]) -> Clamped:
    return [(report.clamped_loads, report.clamped_stores) for report in reports]


@functools.cache
def generate_attention(name: str) -> GeneratedAttention:
    """Generate the kernels of this name in `GENERATED`."""

    from harness import plugins
    from harness.codegen.dialect.context import mlir_context
    from harness.targets.gpu.kernel_build import KernelBuild
    from harness.targets.gpu.pipeline import to_llvm_ir
    from harness.targets.gpu.workgroup import Workgroup
    from harness.targets.lowering.stage_recorder import StageRecorder

    form = GENERATED[name]
    problem, target = form.problem, plugins.target(form.target)
    case = Case(
        problem=problem,
        variant=form.variant,
        target=form.target,
        params=form.params,
        target_options=form.options,
    )
    with mlir_context(), tempfile.TemporaryDirectory() as folder:
        module = plugins.variant(form.variant).kernels(case)
        vendor = target.vendor(form.chip)
        workgroup = Workgroup(vendor, problem)
        built = KernelBuild(module, vendor, workgroup.tiling, workgroup.strategy(case))
        StageRecorder(Path(folder), to_llvm_ir(vendor)).run_all(to_llvm_ir(vendor), built)
    inputs = make_inputs(problem)
    return GeneratedAttention(
        problem=problem,
        text=built.llvm_ir,
        plan=GpuLaunch(chip=form.chip, kernels=built.kernels),
        inputs=inputs,
        expected=expect(inputs, problem),
        chip=form.chip,
    )
