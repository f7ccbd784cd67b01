"""What each operation counts as."""

import pytest
from codegen.costs.counting import costs_of, kernel, read, written

from harness.codegen.costs.costs import Costs, NotCountable, Traffic
from harness.codegen.costs.operations.arithmetic import Kind, elementwise

IDENTITY = "affine_map<(i, j) -> (i, j)>"
PRODUCT = [f"affine_map<(m, n, k) -> ({result})>" for result in ("m, k", "k, n", "m, n")]
C0 = "%c0 = arith.constant 0 : index"


def generic(maps: list[str], iterators: str, operands: str, arguments: str, body: str) -> str:
    return (
        f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} "
        f"{operands} {{\n^bb0({arguments}):\n{body} : f32\n}}"
    )


BODIES = {
    "%b = arith.addf %a, %a : f32": {"other": 15},
    "%b = arith.divf %a, %a : f32": {"other": 15},
    "%b = arith.maximumf %a, %a : f32": {"other": 15},
    "%b = arith.negf %a : f32": {"other": 15},
    "%b = math.tanh %a : f32": {"other": 15},
    "%b = math.exp %a : f32": {"exp": 15},
    "%b = math.exp2 %a : f32": {"exp": 15},
    "%b = math.fma %a, %a, %a : f32": {"other": 30, "fma": 30},
    "%c = arith.cmpf ogt, %a, %a : f32\n%b = arith.select %c, %a, %a : f32": {},
    "%c = arith.truncf %a : f32 to f16\n%b = arith.extf %c : f16 to f32": {},
    "%b = arith.select %true, %a, %a : f32": {},
}


@pytest.mark.parametrize(("body", "expected"), BODIES.items())
def test_a_body_is_counted_for_every_point(body, expected):
    """Applied to a 3 × 5 argument, into a new tensor."""
    operands = "ins(%x : tensor<3x5xf32>) outs(%e : tensor<3x5xf32>)"
    points = generic(
        [IDENTITY] * 2, '"parallel", "parallel"', operands, "%a: f32, %o: f32", f"{body}\nlinalg.yield %b"
    )
    text = f"%true = arith.constant true\n%e = tensor.empty() : tensor<3x5xf32>\n%r = {points} -> "
    text += "tensor<3x5xf32>\nreturn %r : tensor<3x5xf32>"
    found = costs_of(kernel("%x: tensor<3x5xf32>", text, "tensor<3x5xf32>"))
    assert found == Costs(arguments={"arg0": read(60), "result": written(60)}, **expected)


def contraction(body: str, element: str = "f32") -> Costs:
    """Return the costs of a 3 × 7 by 7 × 5 reduction that yields a body's `%r`, of `%a`, `%b` and `%o`."""
    operation = generic(
        PRODUCT,
        '"parallel", "parallel", "reduction"',
        f"ins(%x, %y : tensor<3x7x{element}>, tensor<7x5x{element}>) outs(%z : tensor<3x5xf32>)",
        f"%a: {element}, %b: {element}, %o: f32",
        f"{body}\nlinalg.yield %r",
    )
    return costs_of(
        kernel(
            f"%x: tensor<3x7x{element}>, %y: tensor<7x5x{element}>, %z: tensor<3x5xf32>",
            f"%s = {operation} -> tensor<3x5xf32>\nreturn %s : tensor<3x5xf32>",
            "tensor<3x5xf32>",
        )
    )


CONTRACTIONS = [
    ("%p = arith.mulf %a, %b : f32\n%r = arith.addf %p, %o : f32", 210, 0),
    ("%p = arith.mulf %b, %a : f32\n%r = arith.addf %o, %p : f32", 210, 0),
    ("%r = math.fma %a, %b, %o : f32", 210, 0),
    ("%q = arith.mulf %a, %a : f32\n%p = arith.mulf %q, %b : f32\n%r = arith.addf %p, %o : f32", 210, 105),
    # Reductions of other kinds
    ("%p = arith.mulf %a, %b : f32\n%r = arith.maximumf %p, %o : f32", 0, 210),
    ("%c = arith.constant 2.0 : f32\n%p = arith.mulf %a, %c : f32\n%r = arith.addf %p, %o : f32", 0, 210),
    ("%r = arith.addf %a, %o : f32", 0, 105),
]


@pytest.mark.parametrize(("body", "matmul", "other"), CONTRACTIONS)
def test_contractions_are_two_operations_for_each_multiply_add(body, matmul, other):
    found = contraction(body)
    assert (found.matmul, found.other) == (matmul, other)
    if matmul and not other:
        moved = {"arg0": read(84), "arg1": read(140), "arg2": Traffic(read=60, written=60)}
        assert found == Costs(matmul=matmul, arguments=moved)


def test_contractions_of_narrow_inputs_read_fewer_bytes():
    widened = "%c = arith.extf %a : f16 to f32\n%d = arith.extf %b : f16 to f32\n"
    found = contraction(widened + "%p = arith.mulf %c, %d : f32\n%r = arith.addf %p, %o : f32", "f16")
    assert (found.matmul, found.other) == (210, 0)
    assert (found.arguments["arg0"], found.arguments["arg1"]) == (read(42), read(70))


MATMUL = "%a: tensor<4x8xf32>, %b: tensor<8x5xf32>, %c: tensor<4x5xf32>"
STRUCTURED = "%m: tensor<4x5xf32>, %v: tensor<4xf32>, %t: tensor<5x4xf32>, %s: f32"
VECTORS = "%a: vector<4xf32>, %b: vector<8xf32>, %c: vector<4x8xf32>, %s: f32, %i: vector<8xi32>"
CONTRACT = "%a: vector<2x3xf32>, %b: vector<3x5xf32>, %c: vector<2x5xf32>"


def contract(kind: str) -> str:
    return (
        f"vector.contract {{indexing_maps = [{', '.join(PRODUCT)}], kind = #vector.kind<{kind}>,"
        ' iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c'
        " : vector<2x3xf32>, vector<3x5xf32> into vector<2x5xf32>"
    )


SINGLE = [
    # Elements and tensors
    ("%x: vector<4x8xf32>", "arith.mulf %x, %x : vector<4x8xf32>", Costs(other=32)),
    ("%x: vector<4xi32>", "arith.addi %x, %x : vector<4xi32>", Costs()),
    (
        "%x: tensor<4xf32>",
        "arith.mulf %x, %x : tensor<4xf32>",
        Costs(other=4, arguments={"arg0": read(32)}, scratch=written(16)),
    ),
    # Structured operations that have names
    (
        MATMUL,
        "linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>)"
        " outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>",
        Costs(
            matmul=320, arguments={"arg0": read(128), "arg1": read(160), "arg2": Traffic(read=80, written=80)}
        ),
    ),
    (
        STRUCTURED,
        "linalg.fill ins(%s : f32) outs(%m : tensor<4x5xf32>) -> tensor<4x5xf32>",
        Costs(arguments={"arg0": written(80)}),
    ),
    (
        STRUCTURED,
        "linalg.broadcast ins(%v : tensor<4xf32>) outs(%m : tensor<4x5xf32>) dimensions = [1]",
        Costs(arguments={"arg0": written(80), "arg1": read(16)}),
    ),
    (
        STRUCTURED,
        "linalg.reduce {arith.addf} ins(%m : tensor<4x5xf32>) outs(%v : tensor<4xf32>) dimensions = [1]",
        Costs(other=20, arguments={"arg0": read(80), "arg1": Traffic(read=16, written=16)}),
    ),
    (
        STRUCTURED,
        "linalg.exp ins(%m : tensor<4x5xf32>) outs(%m : tensor<4x5xf32>) -> tensor<4x5xf32>",
        Costs(exp=20, arguments={"arg0": Traffic(read=80, written=80)}),
    ),
    # A tensor that an insertion or padding copies
    (
        "%x: tensor<8xf32>, %t: tensor<4xf32>",
        "tensor.insert_slice %t into %x[4] [4] [1] : tensor<4xf32> into tensor<8xf32>",
        Costs(arguments={"arg0": written(16), "arg1": read(16)}),
    ),
    # Vectors in registers
    (CONTRACT, contract("add"), Costs(matmul=60)),
    (CONTRACT, contract("maximumf"), Costs(other=60)),
    (VECTORS, "vector.outerproduct %a, %b, %c : vector<4xf32>, vector<8xf32>", Costs(matmul=64)),
    (VECTORS, "vector.outerproduct %a, %b : vector<4xf32>, vector<8xf32>", Costs(other=32)),
    (
        VECTORS,
        "vector.multi_reduction <add>, %c, %a [1] : vector<4x8xf32> to vector<4xf32>",
        Costs(other=32),
    ),
    (VECTORS, "vector.reduction <add>, %b : vector<8xf32> into f32", Costs(other=7)),
    (VECTORS, "vector.reduction <add>, %b, %s : vector<8xf32> into f32", Costs(other=8)),
    (VECTORS, "vector.fma %b, %b, %b : vector<8xf32>", Costs(other=16, fma=16)),
    (VECTORS, "vector.transpose %c, [1, 0] : vector<4x8xf32> to vector<8x4xf32>", Costs()),
    (VECTORS, "vector.reduction <add>, %i : vector<8xi32> into i32", Costs()),
]


@pytest.mark.parametrize(("signature", "operation", "expected"), SINGLE)
def test_an_operation_is_counted(signature, operation, expected):
    assert costs_of(kernel(signature, f"%r = {operation}")) == expected


SEVERAL = {
    "a slice of an argument is that argument": (
        '%x: tensor<8x4xf32> {harness.buffer = "query"}',
        """
        %s = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
        %e = tensor.empty() : tensor<4xf32>
        %r = linalg.exp ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        """,
        Costs(exp=4, arguments={"query": read(16)}, scratch=written(16)),
    ),
    "a tile computed in place is inserted for nothing": (
        "%x: tensor<8xf32>",
        """
        %c = arith.constant 0.0 : f32
        %s = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
        %t = linalg.fill ins(%c : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
        %r = tensor.insert_slice %t into %x[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
        """,
        Costs(arguments={"arg0": written(16)}),
    ),
    "padding copies into a larger tensor": (
        "%x: tensor<2x3xf32>",
        """
        %c = arith.constant 0.0 : f32
        %p = tensor.pad %x low[0, 1] high[0, 2] {
        ^bb0(%i: index, %j: index):
          tensor.yield %c : f32
        } : tensor<2x3xf32> to tensor<2x6xf32>
        """,
        Costs(arguments={"arg0": read(24)}, scratch=written(48)),
    ),
    "reshapes are views": (
        "%x: tensor<2x3xf32>",
        """
        %a = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
        %b = tensor.expand_shape %a [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
        %r = linalg.exp ins(%b : tensor<3x2xf32>) outs(%b : tensor<3x2xf32>) -> tensor<3x2xf32>
        """,
        Costs(exp=6, arguments={"arg0": Traffic(read=24, written=24)}),
    ),
    "one buffer or another is undetermined memory": (
        "%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1",
        """
        %a = scf.if %c -> tensor<4xf32> {
          scf.yield %x : tensor<4xf32>
        } else {
          scf.yield %y : tensor<4xf32>
        }
        %e = tensor.empty() : tensor<4xf32>
        %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        """,
        Costs(exp=4, undetermined=read(16), scratch=written(16)),
    ),
    "a loop that passes on other memory is undetermined": (
        "%x: tensor<4xf32>",
        f"""
        {C0}
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4xf32> {{
          %e = tensor.empty() : tensor<4xf32>
          %b = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
          scf.yield %b : tensor<4xf32>
        }}
        """,
        Costs(exp=12, undetermined=read(48), scratch=written(48)),
    ),
    "memory between kernels and of a thread are told apart": (
        '%x: memref<4xf32> {harness.buffer = "scores", harness.free_layout}, %y: memref<64xi8>',
        f"""
        {C0}
        %v = memref.view %y[%c0][] : memref<64xi8> to memref<4xf32>
        memref.copy %x, %v : memref<4xf32> to memref<4xf32>
        """,
        Costs(workspace={"scores": read(16)}, scratch=written(16)),
    ),
    "loads and stores move single elements": (
        "%x: memref<8xf16>",
        f"""
        {C0}
        %s = memref.subview %x[2] [4] [1] : memref<8xf16> to memref<4xf16, strided<[1], offset: 2>>
        %a = memref.load %s[%c0] : memref<4xf16, strided<[1], offset: 2>>
        %t = memref.alloc() : memref<4xf16>
        memref.store %a, %t[%c0] : memref<4xf16>
        """,
        Costs(arguments={"arg0": read(2)}, scratch=written(2)),
    ),
    "copies within one buffer are copies": (
        "%x: memref<8xf32>",
        """
        %a = memref.subview %x[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
        %b = memref.subview %x[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
        memref.copy %a, %b : memref<4xf32, strided<[1]>> to memref<4xf32, strided<[1], offset: 4>>
        """,
        Costs(arguments={"arg0": Traffic(read=16, written=16)}),
    ),
    "structured operations write their outputs": (
        "%x: memref<4xf32>, %y: memref<4xf32>",
        "linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)",
        Costs(exp=4, arguments={"arg0": read(16), "arg1": written(16)}),
    ),
    "transfers move whole vectors": (
        "%x: memref<4x8xf16>, %y: memref<4x8xf16>",
        f"""
        {C0}
        %p = arith.constant 0.0 : f16
        %v = vector.transfer_read %x[%c0, %c0], %p {{in_bounds = [true, true]}}
          : memref<4x8xf16>, vector<2x8xf16>
        %w = vector.load %x[%c0, %c0] : memref<4x8xf16>, vector<8xf16>
        vector.transfer_write %v, %y[%c0, %c0] {{in_bounds = [true, true]}} : vector<2x8xf16>, memref<4x8xf16>
        vector.store %w, %y[%c0, %c0] : memref<4x8xf16>, vector<8xf16>
        """,
        Costs(arguments={"arg0": read(48), "arg1": written(48)}),
    ),
    "a transfer that broadcasts reads each element once": (
        "%x: memref<8xf32>",
        f"""
        {C0}
        %p = arith.constant 0.0 : f32
        %v = vector.transfer_read %x[%c0], %p {{in_bounds = [true, true],
          permutation_map = affine_map<(d0) -> (0, d0)>}} : memref<8xf32>, vector<4x8xf32>
        """,
        Costs(arguments={"arg0": read(32)}),
    ),
}


@pytest.mark.parametrize(("signature", "body", "expected"), SEVERAL.values(), ids=SEVERAL)
def test_memory_is_traced_to_whom_it_belongs(signature, body, expected):
    assert costs_of(kernel(signature, body)) == expected


NOT_COUNTABLE = [
    (
        "%x: tensor<4x5xf32>",
        "%r = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%x : tensor<4x5xf32>)"
        " -> tensor<4x5xf32>",
        "linalg.softmax: it has no body to count; decompose it first",
    ),
    (
        "%x: tensor<4xf32>, %y: tensor<4x4xf32>",
        '%r = "attn.diag"(%x, %y) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>',
        "attn.diag: what it executes depends on how it is decomposed; decompose it first",
    ),
    (
        "%x: vector<[4]xf32>",
        "%r = arith.addf %x, %x : vector<[4]xf32>",
        "vector<[4]xf32>: the length of scalable vectors is known only when they run",
    ),
    (
        "%x: f32",
        'llvm.inline_asm has_side_effects "vaddps $0, $1, $2", "x" %x : (f32) -> ()',
        "llvm.inline_asm: what instruction 'vaddps' executes is not known",
    ),
    ("", "func.call @f() : () -> ()", "func.call: what it executes is not known to the counter"),
    ("", "cf.br ^end\n^end:\nreturn", "func.func: its body is a graph of 2 blocks"),
]


@pytest.mark.parametrize(("signature", "body", "reason"), NOT_COUNTABLE)
def test_what_cannot_be_counted_is_named_with_the_reason(signature, body, reason):
    with pytest.raises(NotCountable) as error:
        costs_of(kernel(signature, body))
    assert str(error.value) == f"kernel f: {reason}"


def test_the_llvm_dialect_is_not_countable():
    with pytest.raises(NotCountable, match=r"^llvm.func: the llvm dialect has jumps instead of loops"):
        costs_of("llvm.func @f() { llvm.return }")


def test_an_operation_can_be_made_known():
    text = kernel("%x: f32", "%r = math.erf %x : f32")
    with pytest.raises(NotCountable, match=r"math\.erf"):
        costs_of(text)
    assert costs_of(text, operations={"math.erf": elementwise({Kind.OTHER: 1})}) == Costs(other=1)
