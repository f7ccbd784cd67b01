"""What each operation counts as."""

import pytest
from costs.counting import costs_of, kernel, read, written

from harness.costs.costs import Costs, NotCountable, Traffic

IDENTITY = "affine_map<(i, j) -> (i, j)>"
ROW = "affine_map<(i, j) -> (i)>"


def generic(maps: list[str], iterators: list[str], operands: str, arguments: str, body: str) -> str:
    kinds = ", ".join(f'"{kind}"' for kind in iterators)
    return (
        f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} {operands} {{\n"
        f"^bb0({arguments}):\n{body}\n}}"
    )


def elementwise(body: str, yielded: str) -> str:
    """Return a kernel that applies a body to a 3 × 5 argument, into a new tensor."""
    operation = generic(
        [IDENTITY, IDENTITY],
        ["parallel", "parallel"],
        "ins(%x : tensor<3x5xf32>) outs(%e : tensor<3x5xf32>)",
        "%a: f32, %o: f32",
        f"{body}\nlinalg.yield {yielded} : f32",
    )
    return kernel(
        "%x: tensor<3x5xf32>",
        f"%e = tensor.empty() : tensor<3x5xf32>\n%r = {operation} -> tensor<3x5xf32>\n"
        "return %r : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    )


class TestArithmetic:
    @pytest.mark.parametrize(
        ("body", "yielded", "expected"),
        [
            ("%b = arith.addf %a, %a : f32", "%b", {"other": 15}),
            ("%b = arith.divf %a, %a : f32", "%b", {"other": 15}),
            ("%b = arith.maximumf %a, %a : f32", "%b", {"other": 15}),
            ("%b = arith.negf %a : f32", "%b", {"other": 15}),
            ("%b = math.tanh %a : f32", "%b", {"other": 15}),
            ("%b = math.exp %a : f32", "%b", {"exp": 15}),
            ("%b = math.exp2 %a : f32", "%b", {"exp": 15}),
            ("%b = math.fma %a, %a, %a : f32", "%b", {"other": 30, "fma": 30}),
            ("%b = arith.cmpf ogt, %a, %a : f32\n%c = arith.select %b, %a, %a : f32", "%c", {}),
            ("%b = arith.truncf %a : f32 to f16\n%c = arith.extf %b : f16 to f32", "%c", {}),
            ("", "%a", {}),
        ],
    )
    def test_of_a_body_is_counted_for_every_point(self, body, yielded, expected):
        found = costs_of(elementwise(body, yielded))
        assert found == Costs(arguments={"arg0": read(60), "result": written(60)}, **expected)

    def test_on_vectors_is_counted_for_every_element(self):
        text = kernel("%x: vector<4x8xf32>", "%y = arith.mulf %x, %x : vector<4x8xf32>")
        assert costs_of(text) == Costs(other=32)

    def test_on_tensors_also_moves_them(self):
        text = kernel("%x: tensor<4xf32>", "%y = arith.mulf %x, %x : tensor<4xf32>")
        assert costs_of(text) == Costs(other=4, arguments={"arg0": read(32)}, scratch=written(16))

    def test_of_integers_is_free(self):
        text = kernel("%x: vector<4xi32>", "%y = arith.addi %x, %x : vector<4xi32>")
        assert costs_of(text) == Costs()


class TestContractions:
    def contraction(self, body: str, element: str = "f32") -> str:
        operation = generic(
            [f"affine_map<(m, n, k) -> ({result})>" for result in ("m, k", "k, n", "m, n")],
            ["parallel", "parallel", "reduction"],
            f"ins(%x, %y : tensor<3x7x{element}>, tensor<7x5x{element}>) outs(%z : tensor<3x5xf32>)",
            f"%a: {element}, %b: {element}, %o: f32",
            body + "\nlinalg.yield %r : f32",
        )
        return kernel(
            f"%x: tensor<3x7x{element}>, %y: tensor<7x5x{element}>, %z: tensor<3x5xf32>",
            f"%s = {operation} -> tensor<3x5xf32>\nreturn %s : tensor<3x5xf32>",
            "tensor<3x5xf32>",
        )

    @pytest.mark.parametrize(
        "body",
        [
            "%p = arith.mulf %a, %b : f32\n%r = arith.addf %p, %o : f32",
            "%p = arith.mulf %b, %a : f32\n%r = arith.addf %o, %p : f32",
            "%r = math.fma %a, %b, %o : f32",
        ],
    )
    def test_are_two_operations_for_each_multiply_add(self, body):
        assert costs_of(self.contraction(body)) == Costs(
            matmul=2 * 105,
            arguments={"arg0": read(84), "arg1": read(140), "arg2": Traffic(read=60, written=60)},
        )

    def test_of_narrow_inputs_read_fewer_bytes(self):
        widened = "%c = arith.extf %a : f16 to f32\n%d = arith.extf %b : f16 to f32\n"
        found = costs_of(
            self.contraction(widened + "%p = arith.mulf %c, %d : f32\n%r = arith.addf %p, %o : f32", "f16")
        )
        assert (found.matmul, found.other) == (210, 0)
        assert (found.arguments["arg0"], found.arguments["arg1"]) == (read(42), read(70))

    @pytest.mark.parametrize(
        ("body", "other"),
        [
            ("%p = arith.mulf %a, %b : f32\n%r = arith.maximumf %p, %o : f32", 210),
            (
                "%c = arith.constant 2.0 : f32\n%p = arith.mulf %a, %c : f32\n%r = arith.addf %p, %o : f32",
                210,
            ),
            ("%r = arith.addf %a, %o : f32", 105),
        ],
    )
    def test_are_told_from_other_reductions(self, body, other):
        found = costs_of(self.contraction(body))
        assert (found.matmul, found.other) == (0, other)

    def test_count_a_scaling_inside_them_as_other(self):
        body = "%q = arith.mulf %a, %a : f32\n%p = arith.mulf %q, %b : f32\n%r = arith.addf %p, %o : f32"
        found = costs_of(self.contraction(body))
        assert (found.matmul, found.other) == (210, 105)

    @pytest.mark.parametrize(
        ("operation", "matmul"),
        [
            ("matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>) outs(%c : tensor<4x5xf32>)", 320),
            (
                "batch_matmul ins(%d, %e : tensor<2x4x8xf32>, tensor<2x8x5xf32>)"
                " outs(%g : tensor<2x4x5xf32>)",
                640,
            ),
        ],
    )
    def test_have_names_in_linalg(self, operation, matmul):
        result = operation.rpartition(": ")[2].rstrip(")")
        signature = "%a: tensor<4x8xf32>, %b: tensor<8x5xf32>, %c: tensor<4x5xf32>, "
        signature += "%d: tensor<2x4x8xf32>, %e: tensor<2x8x5xf32>, %g: tensor<2x4x5xf32>"
        found = costs_of(kernel(signature, f"%r = linalg.{operation} -> {result}"))
        assert (found.matmul, found.other) == (matmul, 0)


class TestNamedStructuredOperations:
    @pytest.mark.parametrize(
        ("operation", "expected"),
        [
            (
                "linalg.fill ins(%s : f32) outs(%m : tensor<4x5xf32>) -> tensor<4x5xf32>",
                Costs(arguments={"arg0": written(80)}),
            ),
            (
                "linalg.broadcast ins(%v : tensor<4xf32>) outs(%m : tensor<4x5xf32>) dimensions = [1]",
                Costs(arguments={"arg0": written(80), "arg1": read(16)}),
            ),
            (
                "linalg.transpose ins(%t : tensor<5x4xf32>) outs(%m : tensor<4x5xf32>) permutation = [1, 0]",
                Costs(arguments={"arg0": written(80), "arg2": read(80)}),
            ),
            (
                "linalg.reduce {arith.addf} ins(%m : tensor<4x5xf32>) outs(%v : tensor<4xf32>)"
                " dimensions = [1]",
                Costs(other=20, arguments={"arg0": read(80), "arg1": Traffic(read=16, written=16)}),
            ),
            (
                "linalg.exp ins(%m : tensor<4x5xf32>) outs(%m : tensor<4x5xf32>) -> tensor<4x5xf32>",
                Costs(exp=20, arguments={"arg0": Traffic(read=80, written=80)}),
            ),
        ],
    )
    def test_are_counted_by_their_bodies(self, operation, expected):
        signature = "%m: tensor<4x5xf32>, %v: tensor<4xf32>, %t: tensor<5x4xf32>, %s: f32"
        assert costs_of(kernel(signature, f"%r = {operation}")) == expected


class TestTensors:
    def test_a_slice_of_an_argument_is_that_argument(self):
        body = """
        %s = tensor.extract_slice %x[2, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
        %e = tensor.empty() : tensor<4xf32>
        %r = linalg.exp ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        """
        text = kernel('%x: tensor<8x4xf32> {harness.buffer = "query"}', body)
        assert costs_of(text) == Costs(exp=4, arguments={"query": read(16)}, scratch=written(16))

    def test_a_tile_computed_in_place_is_inserted_for_nothing(self):
        body = """
        %c = arith.constant 0.0 : f32
        %s = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
        %t = linalg.fill ins(%c : f32) outs(%s : tensor<4xf32>) -> tensor<4xf32>
        %r = tensor.insert_slice %t into %x[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
        """
        assert costs_of(kernel("%x: tensor<8xf32>", body)) == Costs(arguments={"arg0": written(16)})

    def test_any_other_insertion_is_a_copy(self):
        body = """
        %r = tensor.insert_slice %t into %x[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
        """
        assert costs_of(kernel("%x: tensor<8xf32>, %t: tensor<4xf32>", body)) == Costs(
            arguments={"arg0": written(16), "arg1": read(16)}
        )

    def test_padding_copies_into_a_larger_tensor(self):
        body = """
        %c = arith.constant 0.0 : f32
        %p = tensor.pad %x low[0, 1] high[0, 2] {
        ^bb0(%i: index, %j: index):
          tensor.yield %c : f32
        } : tensor<2x3xf32> to tensor<2x6xf32>
        """
        assert costs_of(kernel("%x: tensor<2x3xf32>", body)) == Costs(
            arguments={"arg0": read(24)}, scratch=written(48)
        )

    def test_reshapes_are_views(self):
        body = """
        %a = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
        %b = tensor.expand_shape %a [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
        %r = linalg.exp ins(%b : tensor<3x2xf32>) outs(%b : tensor<3x2xf32>) -> tensor<3x2xf32>
        """
        assert costs_of(kernel("%x: tensor<2x3xf32>", body)) == Costs(
            exp=6, arguments={"arg0": Traffic(read=24, written=24)}
        )

    def test_one_buffer_or_another_is_undetermined_memory(self):
        body = """
        %a = scf.if %c -> tensor<4xf32> {
          scf.yield %x : tensor<4xf32>
        } else {
          scf.yield %y : tensor<4xf32>
        }
        %e = tensor.empty() : tensor<4xf32>
        %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        """
        found = costs_of(kernel("%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1", body))
        assert (found.undetermined, found.arguments) == (read(16), {})

    def test_a_loop_that_passes_on_other_memory_is_undetermined(self):
        body = """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4xf32> {
          %e = tensor.empty() : tensor<4xf32>
          %b = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
          scf.yield %b : tensor<4xf32>
        }
        """
        found = costs_of(kernel("%x: tensor<4xf32>", body))
        assert (found.exp, found.undetermined, found.scratch) == (12, read(48), written(48))

    def test_memory_between_kernels_and_of_a_thread_are_told_apart(self):
        signature = '%x: memref<4xf32> {harness.buffer = "scores", harness.free_layout}, %y: memref<64xi8>'
        body = """
        %c0 = arith.constant 0 : index
        %v = memref.view %y[%c0][] : memref<64xi8> to memref<4xf32>
        memref.copy %x, %v : memref<4xf32> to memref<4xf32>
        """
        assert costs_of(kernel(signature, body)) == Costs(workspace={"scores": read(16)}, scratch=written(16))


class TestMemrefs:
    def test_loads_and_stores_move_single_elements(self):
        body = """
        %c0 = arith.constant 0 : index
        %s = memref.subview %x[2] [4] [1] : memref<8xf16> to memref<4xf16, strided<[1], offset: 2>>
        %a = memref.load %s[%c0] : memref<4xf16, strided<[1], offset: 2>>
        %t = memref.alloc() : memref<4xf16>
        memref.store %a, %t[%c0] : memref<4xf16>
        """
        assert costs_of(kernel("%x: memref<8xf16>", body)) == Costs(
            arguments={"arg0": read(2)}, scratch=written(2)
        )

    def test_copies_within_one_buffer_are_copies(self):
        body = """
        %a = memref.subview %x[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
        %b = memref.subview %x[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
        memref.copy %a, %b : memref<4xf32, strided<[1]>> to memref<4xf32, strided<[1], offset: 4>>
        """
        assert costs_of(kernel("%x: memref<8xf32>", body)) == Costs(
            arguments={"arg0": Traffic(read=16, written=16)}
        )

    def test_structured_operations_write_their_outputs(self):
        body = "linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)"
        assert costs_of(kernel("%x: memref<4xf32>, %y: memref<4xf32>", body)) == Costs(
            exp=4, arguments={"arg0": read(16), "arg1": written(16)}
        )


class TestVectors:
    MAPS = (
        "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
    )

    @pytest.mark.parametrize(("kind", "expected"), [("add", {"matmul": 60}), ("maximumf", {"other": 60})])
    def test_contractions(self, kind, expected):
        body = f"""
        %r = vector.contract {{indexing_maps = {self.MAPS}, kind = #vector.kind<{kind}>,
          iterator_types = ["parallel", "parallel", "reduction"]}} %a, %b, %c
          : vector<2x3xf32>, vector<3x5xf32> into vector<2x5xf32>
        """
        signature = "%a: vector<2x3xf32>, %b: vector<3x5xf32>, %c: vector<2x5xf32>"
        assert costs_of(kernel(signature, body)) == Costs(**expected)

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("vector.outerproduct %a, %b, %c : vector<4xf32>, vector<8xf32>", {"matmul": 64}),
            ("vector.outerproduct %a, %b : vector<4xf32>, vector<8xf32>", {"other": 32}),
            ("vector.multi_reduction <add>, %c, %a [1] : vector<4x8xf32> to vector<4xf32>", {"other": 32}),
            ("vector.reduction <add>, %b : vector<8xf32> into f32", {"other": 7}),
            ("vector.reduction <add>, %b, %s : vector<8xf32> into f32", {"other": 8}),
            ("vector.fma %b, %b, %b : vector<8xf32>", {"other": 16, "fma": 16}),
            ("vector.transpose %c, [1, 0] : vector<4x8xf32> to vector<8x4xf32>", {}),
            ("vector.reduction <add>, %i : vector<8xi32> into i32", {}),
        ],
    )
    def test_operations_in_registers(self, body, expected):
        signature = "%a: vector<4xf32>, %b: vector<8xf32>, %c: vector<4x8xf32>, %s: f32, %i: vector<8xi32>"
        assert costs_of(kernel(signature, f"%r = {body}")) == Costs(**expected)

    def test_transfers_move_whole_vectors(self):
        body = """
        %c0 = arith.constant 0 : index
        %p = arith.constant 0.0 : f16
        %v = vector.transfer_read %x[%c0, %c0], %p {in_bounds = [true, true]}
          : memref<4x8xf16>, vector<2x8xf16>
        %w = vector.load %x[%c0, %c0] : memref<4x8xf16>, vector<8xf16>
        vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<2x8xf16>, memref<4x8xf16>
        vector.store %w, %y[%c0, %c0] : memref<4x8xf16>, vector<8xf16>
        """
        assert costs_of(kernel("%x: memref<4x8xf16>, %y: memref<4x8xf16>", body)) == Costs(
            arguments={"arg0": read(48), "arg1": written(48)}
        )

    def test_a_transfer_that_broadcasts_reads_each_element_once(self):
        body = """
        %c0 = arith.constant 0 : index
        %p = arith.constant 0.0 : f32
        %v = vector.transfer_read %x[%c0], %p {in_bounds = [true, true],
          permutation_map = affine_map<(d0) -> (0, d0)>} : memref<8xf32>, vector<4x8xf32>
        """
        assert costs_of(kernel("%x: memref<8xf32>", body)) == Costs(arguments={"arg0": read(32)})


class TestNotCountable:
    @pytest.mark.parametrize(
        ("signature", "body", "reason"),
        [
            (
                "%x: tensor<4x5xf32>",
                "%r = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%x : tensor<4x5xf32>)"
                " -> tensor<4x5xf32>",
                "kernel f: linalg.softmax: it has no body to count; decompose it first",
            ),
            (
                "%x: tensor<4xf32>, %y: tensor<4x4xf32>",
                '%r = "attn.diag"(%x, %y) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>',
                "kernel f: attn.diag: what it executes depends on how it is decomposed; decompose it first",
            ),
            (
                "%x: vector<[4]xf32>",
                "%r = arith.addf %x, %x : vector<[4]xf32>",
                "kernel f: vector<[4]xf32>: the length of scalable vectors is known only when they run",
            ),
            (
                "%x: f32",
                'llvm.inline_asm has_side_effects "vaddps $0, $1, $2", "x" %x : (f32) -> ()',
                "kernel f: llvm.inline_asm: what instruction 'vaddps' executes is not known",
            ),
            (
                "",
                "func.call @f() : () -> ()",
                "kernel f: func.call: what it executes is not known to the counter",
            ),
            ("", "cf.br ^end\n^end:\nreturn", "kernel f: func.func: its body is a graph of 2 blocks"),
        ],
    )
    def test_names_the_operation_and_the_reason(self, signature, body, reason):
        with pytest.raises(NotCountable) as error:
            costs_of(kernel(signature, body))
        assert str(error.value) == reason

    def test_the_llvm_dialect(self):
        with pytest.raises(NotCountable, match=r"^llvm.func: the llvm dialect has jumps instead of loops"):
            costs_of("llvm.func @f() { llvm.return }")

    def test_an_operation_can_be_made_known(self):
        from harness.costs.operations.elementwise import Kind, elementwise

        text = kernel("%x: f32", "%r = math.erf %x : f32")
        with pytest.raises(NotCountable, match=r"math\.erf"):
            costs_of(text)
        assert costs_of(text, operations={"math.erf": elementwise({Kind.OTHER: 1})}) == Costs(other=1)
