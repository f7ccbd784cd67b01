"""A GPU as a target: code for its chips comes from the pipeline for GPUs, where a vendor is described, and
from IREE; a device or the emulator runs it."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harness import plugins
from harness.artifact.artifact import EMULATING, Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import TileSizeError
from harness.system.machine.gpus import GpuDevice, devices
from harness.targets.base import Capability, GridOrder, Stage, Target, TargetOptions, TileSizes, chip_of
from harness.targets.executors import wanted_executor
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.gpu.strategy import GpuOptions, left_open

if TYPE_CHECKING:
    from mlir import ir

    from harness.targets.gpu.vendor import Vendor
    from harness.targets.gpu.workgroup import Workgroup


class GpuTarget(Target):
    """What the targets of GPUs share."""

    options = GpuOptions
    driver: ClassVar[str]
    """What has to be installed to run on a device."""
    default_chip: ClassVar[str]
    """What code is for when neither a chip is named nor a device is there."""
    descriptions: ClassVar[dict[str, str]]
    is_of_iree: ClassVar[bool] = True
    """Whether IREE, too, makes code for its chips."""
    grid_order: ClassVar[GridOrder] = "longest-first"

    @abstractmethod
    def runs_on(self, chip: str, device_chip: str) -> bool:
        """Return whether code for a chip runs on a device of another, or the same."""

    def chips(self) -> dict[str, str]:
        """Return the chips that code can be generated for."""
        return self.descriptions

    def chip(self, chip: str | None) -> str:
        """Return the chip that code is for when a target's name leaves it open: that of the device here."""
        own = [device.chip for device in devices(self.name) or () if device.chip in self.descriptions]
        return chip or next(iter(own), self.default_chip)

    def find_device(self, chip: str | None) -> GpuDevice | None:
        """Return the first device here that runs code for a chip."""
        wanted = self.chip(chip)
        present = devices(self.name) or ()
        return next((device for device in present if self.runs_on(wanted, device.chip)), None)

    def why_no_device(self, chip: str | None) -> str | None:
        """Return None if a device here runs code for a chip, else the reason."""
        if self.find_device(chip) is not None:
            return None
        present = devices(self.name)
        if present is None:
            return f"no device: {self.driver} is not installed"
        names = ", ".join(map(_named, present))
        return f"no device for {self.chip(chip)}" + (f", only {names}" if names else "")

    def what_devices_lack(self) -> str:
        """Return what to install so that all code runs on the devices that are here, as the end of a line."""
        return ""

    def capabilities(self) -> list[Capability]:
        """Return what can be built, emulated and run here."""
        return [self._build(), self._emulate(), self._run()]

    def device(self, chip: str | None) -> str:
        """Return the name of the device, else that of what stands in for it."""
        from harness.emulator.native_library import compiler

        device = self.find_device(chip)
        if device is not None:
            return _named(device)
        return "no device" if compiler() is None else f"emulated {self.chip(chip)}"

    def device_of(self, case: Case) -> str:
        """Return the name of the device, or of what the case asks for in its place."""
        executor = wanted_executor(case)
        chip = chip_of(case.target)
        return f"emulated {self.chip(chip)}" if executor in EMULATING else self.device(chip)

    def peak_flops(self, chip: str | None, unit: str, options: TargetOptions) -> float | None:
        """Return None: nothing here measures a GPU's peak."""
        return None

    @abstractmethod
    def vendor(self, chip: str | None) -> "Vendor":
        """Return what the pipeline has to know of a chip."""

    @property
    def stages(self) -> tuple[Stage, ...]:  # type: ignore[override]
        """The pipeline's stages, in order."""
        from harness.targets.gpu.pipeline import stages

        return stages(self.vendor(self.default_chip))

    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return tiles that the warps of a workgroup share."""
        from harness.targets.gpu.workgroup import Workgroup

        return Workgroup(self.vendor(self.chip(chip)), problem).sizes

    def sizes_for(self, case: Case) -> TileSizes:
        """Return tiles that a case's warps share."""
        return self._workgroup(case).sizes

    def _workgroup(self, case: Case) -> "Workgroup":
        """Return the workgroup of a case, with the warps that it asks for."""
        from harness.targets.gpu.workgroup import Workgroup

        vendor, warps = self.vendor(self.chip(chip_of(case.target))), case.params.get("warps")
        return Workgroup(
            replace(vendor, most_warps=warps) if isinstance(warps, int) else vendor, case.problem
        )

    def key_splits(self, chip: str | None, workgroups: int, key_tiles: int) -> int | None:
        """Return in how many parts the keys are gone over, so that no multiprocessor is idle."""
        from harness.targets.gpu.key_splits import key_splits

        units = self.vendor(self.chip(chip)).multiprocessors
        return None if units is None else key_splits(units.count, workgroups, key_tiles)

    def why_unsupported(self, chip: str | None, problem: AttentionProblem) -> str | None:
        """Return None, or what of a problem does not fit a chip's warps and matrix instructions."""
        from harness.targets.gpu.workgroup import why_unsupported

        return why_unsupported(self.vendor(self.chip(chip)), problem)

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return how operands are held and moved, as far as options leave it open."""
        from harness.targets.gpu.workgroup import options_of

        return left_open(options_of(case), self._workgroup(case).strategy(case))

    def why_unbuildable(self, case: Case) -> str | None:
        """Return None, or why warps cannot share tiles, or shared memory has no room for one."""
        try:
            self._require_tiles(case)
        except TileSizeError as error:
            return str(error)
        return None

    def _require_tiles(self, case: Case) -> None:
        if not self.tiles_keys(case):
            workgroup = self._workgroup(case)
            workgroup.require_even_tiles(case)
            workgroup.require_room(case)

    def route(self, vendor: "Vendor", case: Case) -> Sequence[Stage]:
        """Return the stages that take a case's kernels to LLVM IR."""
        from harness.targets.gpu.pipeline import to_llvm_ir

        return to_llvm_ir(vendor)

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels for the device and for the emulator."""
        from harness.targets.gpu import packaging
        from harness.targets.gpu.kernel_build import KernelBuild
        from harness.targets.gpu.pipeline import compile_kernels

        chip, workgroup = self.chip(chip_of(case.target)), self._workgroup(case)
        vendor = workgroup.vendor
        self._require_tiles(case)
        longest_first = self.numbers_longest_first(case)
        build = KernelBuild(
            module, vendor, workgroup.tiling, workgroup.strategy(case), longest_first=longest_first
        )
        stages = compile_kernels(build, folder, self.route(vendor, case))
        launch = GpuLaunch(chip=chip, kernels=build.kernels)
        counted = {
            "flops_executed": flops_executed,
            "bank_conflicts": build.bank_conflicts,
            "narrow_loads": build.narrow_loads,
        }
        return Artifact(
            case=case,
            key=key,
            metrics=packaging.static_metrics(build.code, launch).model_copy(update=counted),
            **stages.in_order(),
            **packaging.execution(
                build.code,
                build.emulation,
                launch,
                vendor.device_loader,
                case,
                folder,
                vendor.further_loaders,
            ),
        )

    def _build(self) -> Capability:
        from harness.system.toolchains.iree import installed

        builders = "this harness and IREE" if self.is_of_iree and installed() else "this harness"
        detail = f"by {builders}: chips {', '.join(self.descriptions)}"
        return Capability(action="build", available=True, detail=detail)

    def _emulate(self) -> Capability:
        from harness.emulator.native_library import MISSING, compiler

        command = compiler()
        detail = MISSING if command is None else f"device code on this processor, by {' '.join(command)}"
        return Capability(action="emulate", available=command is not None, detail=detail)

    def _run(self) -> Capability:
        present = devices(self.name)
        if present:
            detail = ", ".join(map(_named, present)) + self.what_devices_lack()
        else:
            detail = f"no device: {self.driver} is not installed" if present is None else "no device"
        return Capability(action="run", available=bool(present), detail=detail)


def gpu_target(case: Case) -> GpuTarget:
    """Return the target of a case that is for GPUs."""
    target = plugins.target(case.target)
    if not isinstance(target, GpuTarget):
        raise TypeError(f"{case.target}: expected a target of GPUs")
    return target


def chip_for(case: Case) -> str:
    """Return the chip that a case's code is for: that of the device here where its target leaves it open."""
    return gpu_target(case).chip(chip_of(case.target))


def _named(device: GpuDevice) -> str:
    return f"{device.name} ({device.chip})"
