"""Running transform-dialect scripts and passes on a module."""

from collections.abc import Callable, Mapping

from mlir import ir, passmanager
from mlir.dialects import transform
from mlir.dialects.transform import interpreter

from harness.codegen.ir.walk import operations_within
from harness.system.errors import BuildError

CANONICALIZE = "canonicalize{top-down=false}"
"""From the uses of values to what gives them: the pass ends with the same IR as the other way round, but
looks at a loop that carries many values once and not again for each of them."""


def run_script(module: ir.Module, text: str) -> None:
    """Apply a transform script, given as the text of a module with `@__transform_main`, in place."""
    script = ir.Module.parse(text)
    _interpret(module, script.body.operations[0], script)


def run_sequence(module: ir.Module, build: Callable[[ir.Value], None]) -> None:
    """Apply a transform sequence that `build(root)` writes with the bindings, in place."""
    script = ir.Module.create()
    script.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    with ir.InsertionPoint(script.body):
        sequence = transform.NamedSequenceOp(
            "__transform_main",
            [transform.any_op_t()],
            [],
            arg_attrs=[{"transform.readonly": ir.UnitAttr.get()}],
        )
    with ir.InsertionPoint(sequence.body):
        build(sequence.bodyTarget)
        transform.YieldOp([])
    script.operation.verify()
    _interpret(module, sequence, script)


def run_passes(module: ir.Module, *passes: str) -> None:
    """Run passes (pipeline syntax) over the module, in place, and verify what the last one leaves."""
    manager = passmanager.PassManager.parse(f"builtin.module({','.join(passes)})")
    manager.enable_verifier(False)  # after each pass it takes as long as a pass
    try:
        manager.run(module.operation)
        module.operation.verify()
    except ir.MLIRError as error:
        raise BuildError(_diagnostics(error)) from error


def _interpret(module: ir.Module, sequence: ir.OpView, script: ir.Module) -> None:
    try:
        interpreter.apply_named_sequence(module.operation, sequence.operation, script.operation)
    except ir.MLIRError as error:
        raise BuildError(_diagnostics(error)) from error


def _diagnostics(error: ir.MLIRError) -> str:
    messages = [diagnostic.message.splitlines()[0] for diagnostic in error.error_diagnostics]
    return "; ".join(messages) or str(error).splitlines()[0]


Replacement = Callable[[ir.OpView], ir.Value | None]
"""Emits what stands for an operation of one result, at its place; None where the operation stays."""


def replace_operations(module: ir.Module, replacements: Mapping[str, Replacement]) -> None:
    """Replace operations in place, by their names."""
    for operation in list(operations_within(module.operation)):
        replacement = replacements.get(operation.operation.name)
        if replacement is None:
            continue
        with ir.InsertionPoint(operation), operation.location:
            result = replacement(operation)
        if result is not None:
            operation.results[0].replace_all_uses_with(result)
            operation.operation.erase()
