"""From device code to kernels that can be launched."""

from dataclasses import dataclass

from harness.emulator.devices import Device
from harness.emulator.importing import imported
from harness.emulator.loading import LoadedKernel, load, object_file
from harness.emulator.retarget.retargeted import Retargeted


@dataclass(frozen=True)
class EmulatorCode:
    """Device code compiled for the emulator."""

    device_code: str
    """In the LLVM dialect: what the lines of findings refer to."""
    retargeted: Retargeted
    object_file: bytes
    device: Device

    def load(self) -> dict[str, LoadedKernel]:
        """Load the code into this process; returns its kernels by name."""
        return load(self.retargeted, self.object_file, self.device)


def compile_for_emulator(llvm_ir: str, device: Device) -> EmulatorCode:
    """Compile what a device's back end receives, LLVM IR text, for the emulator.

    Raises `BuildError` with the name of what the emulator has no model of.
    """
    from harness.emulator.retarget.retarget import retarget

    device_code = imported(llvm_ir)
    retargeted = retarget(device_code, device.models)
    return EmulatorCode(device_code, retargeted, object_file(retargeted.llvm_ir), device)
