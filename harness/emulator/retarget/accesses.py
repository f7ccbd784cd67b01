"""Loads and stores: each asks the runtime first whether it may be made.

The runtime answers with the address to access, which is another one where the access must not be made, so
that the lane goes on with poison instead of ending the process.  Masked accesses and those through AMD's
buffer pointers, which are clamped, are made by the runtime itself.
"""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import llvm

from harness.emulator.retarget import building as b
from harness.emulator.retarget.types import address_space, bytes_of
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
