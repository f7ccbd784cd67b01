"""Loads, stores and calls of device intrinsics: each goes through the runtime, which checks it.

The runtime answers with the address to access, which is another one where the access must not be made, so
that the lane goes on with poison instead of ending the process.  Masked accesses and those through AMD's
buffer pointers, which are clamped, are made by the runtime itself.  Arguments and result of a model travel
through memory, one slot each, so that it sees those of all lanes of a warp, whatever their types.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import llvm

from harness.emulator.llvm_text import DEVICE_PREFIX
from harness.emulator.models.model import Model
from harness.emulator.retarget import building as b
from harness.emulator.retarget.building import address_space, bytes_of
from harness.emulator.retarget.whitelist import GENERIC_INTRINSICS
from harness.system.errors import BuildError

BUFFER_SPACES = (7, 8)
"""AMD's address spaces of pointers that carry the bounds of their buffer."""

MASKED = {
    "llvm.intr.masked.load": "emulator_load_elements",
    "llvm.intr.masked.store": "emulator_store_elements",
    "llvm.intr.masked.gather": "emulator_gather",
    "llvm.intr.masked.scatter": "emulator_scatter",
}
"""Masked accesses and the functions of the runtime that make them."""

ACCESSES = ("llvm.load", "llvm.store", *MASKED)

MAXIMUM_MASK = 64

MAXIMUM_BYTES = 256
"""Of a masked vector: what the slot for results holds."""


@dataclass(frozen=True)
class LaneMemory:
    """Memory on each lane's stack for arguments and results of calls; one call uses it at a time."""

    slots: tuple[ir.Value, ...]
    """Addresses of the arguments, one behind another."""
    result: ir.Value

    @property
    def arguments(self) -> ir.Value:
        """Return the address of all arguments."""
        return self.slots[0]


def check_access(operation: ir.Operation, site: int, memory: LaneMemory) -> None:
    """Put the runtime's check before an access."""
    with ir.InsertionPoint(operation), operation.location:
        if operation.name in MASKED:
            _through_runtime(operation, site, memory)
        elif address_space(_address(operation).type) in BUFFER_SPACES:
            _through_buffer(operation, site, memory)
        else:
            _check_plain(operation, site)


def _is_store(operation: ir.Operation) -> bool:
    return operation.name.endswith(("store", "scatter"))


def _address_position(operation: ir.Operation) -> int:
    return 1 if _is_store(operation) else 0


def _address(operation: ir.Operation) -> ir.Value:
    return operation.operands[_address_position(operation)]


def _value_type(operation: ir.Operation) -> ir.Type:
    return operation.operands[0].type if _is_store(operation) else operation.results[0].type


def _check_plain(operation: ir.Operation, site: int) -> None:
    is_atomic = "ordering" in operation.attributes and ir.IntegerAttr(operation.attributes["ordering"]).value
    if is_atomic:
        raise BuildError(f"the emulator has no model of an atomic {operation.name}")
    function = "emulator_store_address" if _is_store(operation) else "emulator_load_address"
    stated = operation.attributes.get("alignment")
    alignment = 1 if stated is None else ir.IntegerAttr(stated).value
    arguments = [
        _address(operation),
        b.constant(bytes_of(_value_type(operation)), 64),
        b.constant(alignment, 64),
        b.constant(site),
    ]
    operation.operands[_address_position(operation)] = b.call(function, arguments, b.pointer_type())
    operation.attributes["alignment"] = ir.IntegerAttr.get(b.integer_type(64), 1)


def _through_buffer(operation: ir.Operation, site: int, memory: LaneMemory) -> None:
    size = b.constant(bytes_of(_value_type(operation)), 64)
    arguments = [_address(operation), memory.result, size, b.constant(site)]
    if _is_store(operation):
        b.store(operation.operands[0], memory.result)
        b.call("buffer_store", arguments)
    else:
        b.call("buffer_load", arguments)
        operation.results[0].replace_all_uses_with(b.load(operation.results[0].type, memory.result))
    operation.erase()


def _through_runtime(operation: ir.Operation, site: int, memory: LaneMemory) -> None:
    """Make a masked access through memory: values in one slot, addresses of their own in another."""
    operands = list(operation.operands)
    value, address, mask = (*operands,) if _is_store(operation) else (operands[2], operands[0], operands[1])
    count = mask.type.shape[0]
    if count > MAXIMUM_MASK or bytes_of(value.type) > MAXIMUM_BYTES:
        raise BuildError(f"the emulator has no model of {operation.name} of {value.type}")
    has_addresses = isinstance(address.type, ir.VectorType)
    space = address_space(address.type.element_type if has_addresses else address.type)
    b.store(value, memory.result)
    if has_addresses:
        b.store(address, memory.arguments)
        address = memory.arguments
    arguments = [
        address,
        memory.result,
        b.constant(bytes_of(value.type.element_type), 64),
        _packed(mask, count),
        b.constant(int(space in BUFFER_SPACES)),
        b.constant(site),
    ]
    b.call(MASKED[operation.name], arguments)
    if operation.results:
        operation.results[0].replace_all_uses_with(b.load(operation.results[0].type, memory.result))
    operation.erase()


def _packed(mask: ir.Value, count: int) -> ir.Value:
    """Return a vector of bits as one number."""
    packed = llvm.bitcast(b.integer_type(count), mask)
    return packed if count == MAXIMUM_MASK else llvm.zext(b.integer_type(64), packed)


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
