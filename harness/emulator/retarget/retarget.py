"""Device code for the CPU: models for intrinsics, checks before accesses, one address space."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain

from mlir import ir
from mlir.dialects import llvm

from harness.codegen.ir.walk import operations_within
from harness.emulator.models.model import Model
from harness.emulator.retarget import building as b
from harness.emulator.retarget.accesses import (
    ACCESSES,
    ARGUMENT_BYTES,
    MASKED,
    RESULT_BYTES,
    LaneMemory,
    call_model,
    check_access,
    intrinsic_name,
    model_of,
)
from harness.emulator.retarget.building import bytes_of, flat
from harness.emulator.retarget.entries import add_entry, is_kernel, is_shared, placed, replace_address
from harness.emulator.retarget.inline_assembly import expand_assembly
from harness.emulator.retarget.retargeted import REGION, KernelDescription, Retargeted, SharedArray, Site
from harness.emulator.retarget.whitelist import PLAIN, WITHOUT_EFFECT
from harness.system.errors import BuildError

STACK_ALIGNMENT = 64

LEAST_SLOTS = 4
"""Argument slots of each lane, which also hold the addresses of up to 64 elements."""

DROPPED_FROM_MODULE = ("llvm.module_flags", "llvm.comdat", "llvm.linker_options")

TYPE_ATTRIBUTES = {
    "llvm.func": "function_type",
    "llvm.mlir.global": "global_type",
    "llvm.alloca": "elem_type",
    "llvm.getelementptr": "elem_type",
    "llvm.call": "var_callee_type",
}
"""The attribute of an operation that may hold the type of a pointer."""

PLAIN_FUNCTION = {
    "CConv": "#llvm.cconv<ccc>",
    "linkage": b.EXTERNAL,
    "unnamed_addr": "0 : i64",
    "visibility_": "0 : i64",
}
"""Attributes of a function that is nothing special."""


def retarget(device_code: str, models: Mapping[str, Model]) -> Retargeted:
    """Return device code, text in the LLVM dialect, for the CPU.

    Raises `BuildError` with the name of what the emulator has no model of.
    """
    with ir.Context() as context, ir.Location.unknown():
        module = ir.Module.parse(device_code, context)
        retargeting = _Retargeting(module, models)
        kernels = retargeting.run()
        if not module.operation.verify():
            raise BuildError("the retargeted code is not valid")
        return Retargeted(
            llvm_ir=llvm.translate_module_to_llvmir(module.operation),
            kernels=tuple(kernels),
            sites=tuple(retargeting.sites),
            constants=retargeting.constants,
            symbols=tuple(sorted(retargeting.symbols)),
            intrinsics=dict(sorted(retargeting.intrinsics.items())),
        )


class _Retargeting:
    def __init__(self, module: ir.Module, models: Mapping[str, Model]) -> None:
        self.module = module
        self.models = models
        self.sites: list[Site] = []
        self.constants: dict[str, int] = {}
        self.symbols: set[str] = set()
        self.intrinsics: Counter[str] = Counter()

    def run(self) -> list[KernelDescription]:
        top = [operation.operation for operation in self.module.body.operations]
        functions = [operation for operation in top if operation.name == "llvm.func"]
        defined = [function for function in functions if function.regions[0].blocks]
        own = {ir.StringAttr(function.attributes["sym_name"]).value for function in defined}
        arrays, dynamic_offset = placed(
            operation for operation in top if operation.name == "llvm.mlir.global" and is_shared(operation)
        )
        kernels = [function for function in defined if is_kernel(function)]
        for function in defined:
            self._function(function, own, {array.name: array for array in arrays})
        self._globals(top)
        for function in functions:
            if function not in defined:
                function.erase()
        self._flatten()
        described = [add_entry(kernel, arrays, dynamic_offset) for kernel in kernels]
        for function in defined:
            _keep_attributes(function)
        self._declare()
        return described

    def _function(self, function: ir.Operation, own: set[str], arrays: dict[str, SharedArray]) -> None:
        expand_assembly(function)
        entry = function.regions[0].blocks[0]
        device_operations = [view.operation for view in operations_within(function)]
        with ir.InsertionPoint.at_block_begin(entry), function.location:
            count = self._most_arguments(device_operations)
            first = _reserve(ARGUMENT_BYTES * count)
            result = _reserve(RESULT_BYTES)
            others = [b.offset(first, ARGUMENT_BYTES * position) for position in range(1, count)]
            memory = LaneMemory((first, *others), result)
        for operation in device_operations:
            self._operation(operation, entry, own, arrays, memory)

    def _most_arguments(self, operations: Iterable[ir.Operation]) -> int:
        constants = max((len(model.constants) for model in self.models.values()), default=0)
        calls = [operation for operation in operations if operation.name.startswith("llvm.call")]
        return max([LEAST_SLOTS, *(len(call.operands) for call in calls)]) + constants

    def _operation(
        self,
        operation: ir.Operation,
        entry: ir.Block,
        own: set[str],
        arrays: dict[str, SharedArray],
        memory: LaneMemory,
    ) -> None:
        name = operation.name
        if name in PLAIN:
            return
        if name in WITHOUT_EFFECT:
            operation.erase()
        elif name in ACCESSES:
            check_access(operation, self._site(operation, name), memory)
        elif name == "llvm.addrspacecast":
            operation.results[0].replace_all_uses_with(operation.operands[0])
            operation.erase()
        elif name == "llvm.mlir.addressof":
            replace_address(operation, arrays)
        elif name == "llvm.alloca":
            _hoist(operation, entry)
        elif name in ("llvm.call", "llvm.call_intrinsic"):
            self._call(operation, own, memory)
        else:
            detail = operation.attributes.get("asm_string", "")
            raise BuildError(f"the emulator has no model of {name} {detail}".rstrip())

    def _call(self, operation: ir.Operation, own: set[str], memory: LaneMemory) -> None:
        name = intrinsic_name(operation)
        if name in own:
            return
        model = model_of(name, self.models)
        if model is None:
            return
        self.intrinsics[name] += 1
        if model.symbol is not None:
            self.symbols.add(model.symbol)
        call_model(operation, model, self._site(operation, name), memory)

    def _site(self, operation: ir.Operation, name: str) -> int:
        location = operation.location
        line = location.start_line if location.is_a_file() else 0
        self.sites.append(Site(name, line))
        return len(self.sites) - 1

    def _globals(self, top: list[ir.Operation]) -> None:
        """Drop shared arrays, and make constant tables known by name."""
        for operation in top:
            if operation.name in DROPPED_FROM_MODULE or (
                operation.name == "llvm.mlir.global" and is_shared(operation)
            ):
                operation.erase()
            elif operation.name == "llvm.mlir.global":
                self._constant_table(operation)
            elif operation.name != "llvm.func":
                raise BuildError(f"the emulator has no model of {operation.name}")
        attributes = self.module.operation.attributes
        for name in [name for name in attributes if name.startswith(("llvm.", "dlti."))]:
            del attributes[name]

    def _constant_table(self, operation: ir.Operation) -> None:
        name = ir.StringAttr(operation.attributes["sym_name"]).value
        if "constant" not in operation.attributes:
            raise BuildError(f"the emulator has no model of the global variable {name}")
        self.constants[name] = bytes_of(ir.TypeAttr(operation.attributes["global_type"]).value)
        operation.attributes["linkage"] = ir.Attribute.parse(b.EXTERNAL)
        operation.attributes["addr_space"] = ir.IntegerAttr.get(b.integer_type(32), 0)

    def _flatten(self) -> None:
        """Bring all pointers to the one address space."""
        flattened = cache(flat)
        for view in operations_within(self.module.operation):
            operation = view.operation
            blocks = operation.regions[0].blocks if len(operation.regions) else ()
            for value in chain(operation.results, *(block.arguments for block in blocks)):
                value.set_type(flattened(value.type))
            name = TYPE_ATTRIBUTES.get(operation.name)
            if name is not None and name in operation.attributes:
                kind = ir.TypeAttr(operation.attributes[name]).value
                operation.attributes[name] = ir.TypeAttr.get(flattened(kind))

    def _declare(self) -> None:
        """Declare what the code now calls or reads."""
        pointer, word, index = b.pointer_type(), b.integer_type(64), b.integer_type(32)
        called = {
            "emulator_load_address": ([pointer, word, word, index], pointer),
            "emulator_store_address": ([pointer, word, word, index], pointer),
            **{name: ([pointer, pointer, word, word, index, index], None) for name in MASKED.values()},
            "emulator_call_lane": ([pointer, pointer, pointer, index], None),
            "emulator_call_collective": ([pointer, pointer, pointer, index], None),
            "buffer_load": ([pointer, pointer, word, index], None),
            "buffer_store": ([pointer, pointer, word, index], None),
        }
        with ir.InsertionPoint(self.module.body), ir.Location.unknown():
            for name, (arguments, result) in called.items():
                b.function(name, arguments, result)
            for symbol in sorted(self.symbols):
                b.function(symbol, [])
            llvm.mlir_global(b.integer_type(8), REGION, ir.Attribute.parse(b.EXTERNAL), addr_space=0)


def _reserve(bytes_: int) -> ir.Value:
    """Reserve bytes on the lane's stack."""
    return llvm.alloca(b.pointer_type(), b.constant(bytes_, 64), b.integer_type(8), alignment=STACK_ALIGNMENT)


def _hoist(operation: ir.Operation, entry: ir.Block) -> None:
    """Reserve stack memory once, however often the code comes by, and aligned for any vector."""
    count = operation.operands[0].owner
    if isinstance(count, ir.Block) or count.name != "llvm.mlir.constant":
        raise BuildError("the emulator has no model of stack memory of varying size")
    with ir.InsertionPoint.at_block_begin(entry), operation.location:
        operation.operands[0] = b.constant(ir.IntegerAttr(count.attributes["value"]).value, 64)
    operation.move_after(operation.operands[0].owner)
    operation.attributes["alignment"] = ir.IntegerAttr.get(b.integer_type(64), STACK_ALIGNMENT)


def _keep_attributes(function: ir.Operation) -> None:
    """Drop what only the device's back end understands: calling convention, promises, workgroup sizes."""
    for name in list(function.attributes):
        if name in PLAIN_FUNCTION:
            function.attributes[name] = ir.Attribute.parse(PLAIN_FUNCTION[name])
        elif name not in ("sym_name", "function_type"):
            del function.attributes[name]
