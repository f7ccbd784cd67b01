"""Running tensor IR plainly, with several results.

New tensors start as NaN, so that whatever reads a value that was never written shows.
"""

import ctypes
import math
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np
from mlir import ir, passmanager
from mlir.dialects import func, linalg, tensor
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.codegen.dialect.decomposition import decompose_all
from harness.codegen.dialect.verification import verify
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.simplifications import decompose_all_pads
from harness.problem.dtypes import numpy_dtype
from harness.system.toolchains.host_llvm import initialize_llvm

LOOPS = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map}",
    "buffer-results-to-out-params{hoist-static-allocs=true modify-public-functions=true}",
    "func.func(convert-linalg-to-loops)",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "arith-expand{include-bf16=true}",
    "convert-math-to-libm",
    "convert-math-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)
"""The plainest lowering there is: every operation a nest of scalar loops."""

ALLOCATING = LOOPS[0].replace("{", "{allow-return-allocs-from-loops=true ")
BUFFERIZE = ("inline", ALLOCATING, LOOPS[1], "func.func(scf-forall-to-for)")
LOWER = LOOPS[2:]
NUMPY_NAMES = {"f64": "float64", "i8": "int8", "i32": "int32"}


def payload(shapes: Sequence[tuple[int, ...]], body: Callable[..., Sequence[ir.Value]]) -> ir.Module:
    """Return a module of `@main`, which the body builds, of arguments of these shapes in f64."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        types = [b.tensor_type(shape, "f64") for shape in shapes]
        function = func.FuncOp("main", (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            values = list(body(*function.arguments))
            func.ReturnOp(values)
        kind = ir.FunctionType.get(types, [value.type for value in values])
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
    verify(module)
    return module


def execute(module: ir.Module, inputs: Sequence[np.ndarray], name: str = "main") -> list[np.ndarray]:
    """Return what a function computes from arrays, in the types that it declares; the module is consumed."""
    verify(module)
    decompose_all_pads(module)
    decompose_all(module)
    _poison_new_tensors(module)
    outer = next(op for op in module.body.operations if op.name.value == name)
    declared = [_array_type(type_) for type_ in (*outer.type.inputs, *outer.type.results)]
    _run(BUFFERIZE, module)
    _copy_by_loops(module)
    _run(LOWER, module)
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(translate_module_to_llvmir(module.operation)), _quick_compiler()
    )
    engine.finalize_object()
    outputs = [np.full(shape, np.nan, dtype) for shape, dtype in declared[len(inputs) :]]
    given = [np.array(a, dtype, order="C") for a, (_, dtype) in zip(inputs, declared, strict=False)]
    arrays = [*given, *outputs]
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
    signature(engine.get_function_address(name))(*(array.ctypes.data for array in arrays))
    return outputs


def add_caller(module: ir.Module, callee: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Add `@main`, which calls a function of tensors of unknown sizes with some of these shapes.

    The last argument is where the one result lies.  The function is private from then on.
    """
    function = next(op for op in module.body.operations if op.name.value == callee)
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    elements = [kind.element_type for kind in function.type.inputs]
    kinds = [ir.RankedTensorType.get(*each) for each in zip(shapes, elements, strict=True)]
    with ir.InsertionPoint(module.body):
        caller = func.FuncOp("main", (kinds, kinds[-1:]))
        with ir.InsertionPoint(caller.add_entry_block()):
            given = map(tensor.cast, function.type.inputs, caller.arguments)
            called = func.CallOp(function, list(given))
            func.ReturnOp([tensor.cast(kinds[-1], called.results[0])])


def _array_type(type_: ir.Type) -> tuple[tuple[int, ...], np.dtype]:
    name = str(type_.element_type)
    return tuple(type_.shape), np.dtype(NUMPY_NAMES[name]) if name in NUMPY_NAMES else numpy_dtype(name)


def _quick_compiler() -> llvm.TargetMachine:
    """Return a code generator that does not optimise: what is run is tiny."""
    initialize_llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=0,
        codemodel="jitdefault",
        jit=True,
    )


def within(module: ir.Module, name: str) -> list[ir.OpView]:
    """Return the operations of a name, outermost first."""
    return [operation for operation in operations_within(module.operation) if operation.name == name]


def _run(passes: Sequence[str], module: ir.Module) -> None:
    passmanager.PassManager.parse(f"builtin.module({','.join(passes)})").run(module.operation)


def _copy_by_loops(module: ir.Module) -> None:
    """Turn copies into loops: MLIR copies strided memory by a function of its runtime library."""
    for copy in [op for op in operations_within(module.operation) if op.name == "memref.copy"]:
        with ir.InsertionPoint(copy), copy.location:
            linalg.copy(copy.operands[0], outs=[copy.operands[1]])
        copy.operation.erase()


def _poison_new_tensors(module: ir.Module) -> None:
    for empty in [op for op in operations_within(module.operation) if op.name == "tensor.empty"]:
        uses = list(empty.results[0].uses)
        with ir.InsertionPoint.after(empty):
            nan = b.constant(math.nan, b.dtype_of(empty.results[0]))
            filled = linalg.fill(nan, outs=[empty.results[0]])
        for use in uses:
            use.owner.operands[use.operand_number] = filled


def close(result: np.ndarray, expected: np.ndarray) -> None:
    """Assert equality up to rounding in f64."""
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-12)
