"""Calls of device intrinsics: each becomes a call of its model through the runtime.

Arguments and result travel through memory, one slot each, so that a model sees the arguments of all lanes of
a warp, whatever their types.
"""

from collections.abc import Mapping

from mlir import ir

from harness.emulator.llvm_text import DEVICE_PREFIX
from harness.emulator.models.model import Model
from harness.emulator.retarget import building as b
from harness.emulator.retarget.accesses import LaneMemory
from harness.emulator.retarget.types import bytes_of
from harness.emulator.retarget.whitelist import GENERIC_INTRINSICS
from harness.system.errors import BuildError

ARGUMENT_BYTES = 128
"""Bytes between two arguments: `ARGUMENT_BYTES` of `emulator/runtime/emulator.h`."""

RESULT_BYTES = 256


def intrinsic_name(operation: ir.Operation) -> str:
    """Return the name of what a call calls, as the device's compiler knows it."""
    if operation.name == "llvm.call_intrinsic":
        return ir.StringAttr(operation.attributes["intrin"]).value
    if "callee" not in operation.attributes:
        raise BuildError("the emulator has no model of a call through a pointer")
    return ir.FlatSymbolRefAttr(operation.attributes["callee"]).value.removeprefix(DEVICE_PREFIX)


def model_of(name: str, models: Mapping[str, Model]) -> Model | None:
    """Return an intrinsic's model, None for one that every back end knows.

    Raises `BuildError` with the name of an intrinsic that has no model.
    """
    if name.startswith(GENERIC_INTRINSICS):
        return None
    if name not in models:
        raise BuildError(f"the emulator has no model of {name}")
    return models[name]


def call_model(operation: ir.Operation, model: Model, site: int, memory: LaneMemory) -> None:
    """Replace a call of an intrinsic by one of its model."""
    with ir.InsertionPoint(operation), operation.location:
        results = list(operation.results)
        if model.symbol is None:
            if results:
                raise BuildError(f"the model of {intrinsic_name(operation)} gives no result")
        else:
            _pass_arguments(operation, model, memory)
            function = f"emulator_call_{model.kind}"
            b.call(function, [b.address_of(model.symbol), memory.arguments, memory.result, b.constant(site)])
            if results:
                results[0].replace_all_uses_with(b.load(results[0].type, memory.result))
    operation.erase()


def _pass_arguments(operation: ir.Operation, model: Model, memory: LaneMemory) -> None:
    constants = [b.constant(value) for value in model.constants]
    for position, value in enumerate([*operation.operands, *constants]):
        if bytes_of(value.type) > ARGUMENT_BYTES:
            raise BuildError(f"{intrinsic_name(operation)}: an argument of {value.type} is too large")
        b.store(value, memory.slots[position])
