"""Kernels on their way from tiles to a device's code: what the stages of the pipeline hand on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.artifact.artifact import StaticMetrics
from harness.codegen.layouts.analysis import LayoutAnalysis
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.emulator.device_code import EmulatorCode
from harness.targets.base import Stage
from harness.targets.gpu.kernel_function import KernelShape
from harness.targets.gpu.launch import GpuKernel
from harness.targets.gpu.strategy import DEFAULT, GpuOptions
from harness.targets.lowering.buffers import Buffer

if TYPE_CHECKING:
    from harness.targets.gpu.vendor import Vendor


@dataclass(frozen=True)
class DeviceCode:
    """Kernels as a vendor's driver takes them, and what the vendor's tools say of them."""

    image: bytes
    """As a driver gets it: by it the emulator knows the code."""
    files: Mapping[str, bytes]
    """What the driver's loader reads from the artifact's folder, by file name; last what it prefers."""
    metrics: StaticMetrics = field(default_factory=StaticMetrics)

    @property
    def object_file(self) -> str:
        """The file that the driver's loader prefers."""
        return list(self.files)[-1]


@dataclass
class KernelBuild:
    """A module of kernels, and what the stages so far have found out about it."""

    module: ir.Module
    """Kernels of vectors; from the stage `distributed` on a `gpu.module` of what one lane does."""
    vendor: "Vendor"
    tiling: WarpTiling
    strategy: GpuOptions = DEFAULT
    """What is decided of each option."""
    longest_first: bool = True
    """Whether the points of a grid with the longest loops come first."""
    buffers: list[tuple[Buffer, ...]] = field(default_factory=list)
    """Of each kernel, in the order of its arguments."""
    analyses: list[LayoutAnalysis] = field(default_factory=list)
    shapes: list[KernelShape] = field(default_factory=list)
    """How each kernel is launched."""
    llvm_ir: str = ""
    assembly: str = ""
    code: DeviceCode = field(init=False)
    """From the vendor's stages of emission on."""
    emulation: EmulatorCode | str = ""
    """The kernels for the emulator, or why it does not run them."""

    @property
    def kernels(self) -> tuple[GpuKernel, ...]:
        """The kernels in calling order, from the stage `distributed` on."""
        return tuple(
            GpuKernel(
                name=shape.name,
                buffers=held,
                grid=shape.grid,
                threads=shape.threads,
                shared_bytes=shape.shared_bytes,
            )
            for shape, held in zip(self.shapes, self.buffers, strict=True)
        )

    @property
    def bank_conflicts(self) -> int:
        """Extra passes of the accesses to shared memory that stand in the code, in all kernels."""
        return sum(shape.bank_conflicts for shape in self.shapes)

    @property
    def narrow_loads(self) -> int:
        """Loads of less than a word that loops make from global memory for their products, in all kernels."""
        return sum(shape.narrow_loads for shape in self.shapes)


def on_module(change: Callable[[ir.Module], None]) -> Callable[[KernelBuild], str]:
    """Return the `run` of a stage that changes the module in place and verifies it, as passes do."""

    def run(build: KernelBuild) -> str:
        change(build.module)
        return verified_text(build.module)

    return run


def verified_text(module: ir.Module) -> str:
    """Return a module as text that has been verified just now: `str` would do it again."""
    return module.operation.get_asm(assume_verified=True)


def to_llvm_ir(triple: str, data_layout: Callable[[str], str] | None = None) -> Stage:
    """Return the stage for a target triple, with the data layout of a chip where there is one."""

    def run(build: KernelBuild) -> str:
        flat = ir.Module.create()
        for operation in list(build.module.body.operations[0].regions[0].blocks[0].operations):
            flat.body.append(operation)
        layout = "" if data_layout is None else f'target datalayout = "{data_layout(build.vendor.chip)}"\n'
        header = f'{layout}target triple = "{triple}"\n'
        build.llvm_ir = header + translate_module_to_llvmir(flat.operation)
        return build.llvm_ir

    return Stage("llvm-ir", "LLVM IR", run, "ll")
