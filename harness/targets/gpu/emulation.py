"""The stage `emulated`: kernels as the emulator runs them, of whatever compiler."""

from harness.emulator.device_code import EmulatorCode, compile_for_emulator
from harness.emulator.devices import Device
from harness.emulator.native_library import MISSING, compiler
from harness.system.errors import BuildError, InputError
from harness.targets.base import Stage
from harness.targets.lowering.stage_recorder import StageRecorder

EMULATED = Stage("emulated", "device code as the emulator takes it, which its findings refer to")


def emulate(llvm_ir: str, device: Device, recorder: StageRecorder) -> EmulatorCode | str:
    """Return kernels as the emulator runs them, or why it does not; the stage's output is recorded."""
    if compiler() is None:
        return f"for the emulator: {MISSING}"
    codes: list[EmulatorCode] = []

    def compiled() -> str:
        codes.append(compile_for_emulator(llvm_ir, device))
        return codes[0].device_code

    try:
        recorder.record(EMULATED, compiled)
    except (BuildError, InputError) as error:
        return f"the emulator refuses the code: {error}"
    return codes[0]
