"""Trip counts: loops and branches whose bounds depend on other loops, on data and on sizes."""

import numpy as np
import pytest
from codegen.costs.counting import costs_of, kernel, read
from codegen.costs.loop_nests import PROGRAMS, as_mlir, executed
from hypothesis import given, settings

from harness.codegen.costs import trees
from harness.codegen.costs.costs import NotCountable

CONSTANTS = "\n".join(f"%c{number} = arith.constant {number} : index" for number in (0, 1, 2, 3, 5, 8))
WORK = "%w = arith.addf %x, %x : f32"


def other(body: str, signature: str = "%x: f32", **inputs) -> int:
    """Return the floating-point operations of a body, of which each `WORK` is one."""
    return costs_of(kernel(signature, f"{CONSTANTS}\n{body}"), **inputs).other


@settings(max_examples=60)
@given(PROGRAMS)
def test_any_loop_nest_counts_as_when_it_is_executed(program):
    assert costs_of(as_mlir(program)).other == executed(program, [])


class TestLoops:
    def test_a_forall_has_one_loop_for_each_dimension(self):
        assert other(f"scf.forall (%i, %j) = (0, 2) to (4, 8) step (1, 3) {{ {WORK} }}") == 4 * 2

    def test_a_forall_takes_dynamic_bounds(self):
        assert other(f"scf.forall (%i, %j) in (%c3, 2) {{ {WORK} }}") == 6

    def test_a_triangle_of_tiles(self):
        body = f"""
        scf.forall (%i) in (100) {{
          %end = affine.min affine_map<(i) -> ((i * 16 + 16) ceildiv 64, 20)>(%i)
          scf.for %j = %c0 to %end step %c1 {{ {WORK} }}
        }}
        """
        assert other(body) == sum(min(-(-(16 * i + 16) // 64), 20) for i in range(100))

    def test_an_integer_that_a_loop_carries_is_known_after_it(self):
        body = f"""
        %n = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %c2) -> index {{
          %t = arith.addi %s, %i : index
          scf.yield %t : index
        }}
        scf.for %i = %c0 to %n step %c1 {{ {WORK} }}
        """
        assert other(body) == 12

    def test_only_what_a_loop_depends_on_is_evaluated(self, monkeypatch):
        passes = []
        evaluated = trees.Loop._evaluated

        def note(loop, bindings):
            passes.append(loop)
            return evaluated(loop, bindings)

        monkeypatch.setattr(trees.Loop, "_evaluated", note)
        body = f"""
        scf.forall (%b, %h, %i) in (64, 64, 10) {{
          scf.for %j = %c0 to %i step %c1 {{ {WORK} }}
        }}
        """
        assert other(body) == 64 * 64 * 45
        assert len(passes) == 3 + 10


class TestBranches:
    def test_a_condition_on_data_is_not_countable(self):
        with pytest.raises(NotCountable, match=r"^kernel f: argument 1 of a block of func.func: its integer"):
            other(f"scf.if %c {{ {WORK} }}", "%x: f32, %c: i1")

    def test_a_condition_between_equal_costs_need_not_be_known(self):
        body = f"scf.if %c {{ {WORK} }} else {{ %m = arith.mulf %x, %x : f32 }}"
        assert other(body, "%x: f32, %c: i1") == 1

    def test_a_size_that_a_branch_chooses(self):
        body = f"""
        scf.for %i = %c0 to %c3 step %c1 {{
          %c = arith.cmpi eq, %i, %c1 : index
          %n = scf.if %c -> index {{ scf.yield %c8 : index }} else {{ scf.yield %c2 : index }}
          scf.for %j = %c0 to %n step %c1 {{ {WORK} }}
        }}
        """
        assert other(body) == 12


class TestKnownContents:
    SIGNATURE = '%x: f32, %lengths: tensor<5xi32> {harness.buffer = "cu_seqlens"}'
    BODY = f"""
    scf.forall (%b, %h) in (3, 8) {{
      %s = tensor.extract_slice %lengths[1] [4] [1] : tensor<5xi32> to tensor<4xi32>
      %a = tensor.extract %lengths[%b] : tensor<5xi32>
      %e = tensor.extract %s[%b] : tensor<4xi32>
      %d = arith.subi %e, %a : i32
      %n = arith.index_cast %d : i32 to index
      scf.for %j = %c0 to %n step %c1 {{ {WORK} }}
    }}
    """

    def test_decide_trip_counts(self):
        lengths = np.array([0, 7, 7, 20, 21], np.int32)
        text = kernel(self.SIGNATURE, f"{CONSTANTS}\n{self.BODY}")
        found = costs_of(text, known={"cu_seqlens": lengths})
        assert found.other == 8 * 20
        assert found.arguments == {"cu_seqlens": read(3 * 8 * 2 * 4)}

    def test_are_asked_for(self):
        with pytest.raises(NotCountable) as error:
            other(self.BODY, self.SIGNATURE)
        assert str(error.value) == (
            "kernel f: tensor.extract: what is executed depends on an integer in buffer 'cu_seqlens'; "
            "pass its contents as known"
        )

    def test_must_not_be_read_out_of_bounds(self):
        with pytest.raises(NotCountable, match=r"tensor.extract reads cu_seqlens\[2\], out of bounds"):
            other(self.BODY, self.SIGNATURE, known={"cu_seqlens": np.array([0, 1])})

    def test_must_not_be_written(self):
        signature = '%x: f32, %l: memref<4xi32> {harness.buffer = "lengths"}'
        body = "%v = arith.constant 1 : i32\nmemref.store %v, %l[%c0] : memref<4xi32>"
        with pytest.raises(NotCountable, match="it writes to 'lengths', whose contents were given"):
            other(body, signature, known={"lengths": np.zeros(4)})


class TestDynamicSizes:
    def test_of_slices_come_from_the_slice(self):
        body = """
        scf.forall (%i) in (3) {
          %n = affine.min affine_map<(i) -> (4, 10 - i * 4)>(%i)
          %s = tensor.extract_slice %t[%i] [%n] [1] : tensor<10xf32> to tensor<?xf32>
          %e = tensor.empty(%n) : tensor<?xf32>
          %r = linalg.exp ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
        }
        """
        found = costs_of(kernel("%t: tensor<10xf32>", body))
        assert (found.exp, found.arguments["arg0"].read, found.scratch.written) == (10, 40, 40)

    def test_of_arguments_are_not_countable(self):
        body = "%e = linalg.exp ins(%t : tensor<?x4xf32>) outs(%t : tensor<?x4xf32>) -> tensor<?x4xf32>"
        with pytest.raises(NotCountable, match="a size of 'arg1' is known only at run time"):
            other(body, "%x: f32, %t: tensor<?x4xf32>")


def test_the_grid_of_a_range_kernel_is_asked_for():
    body = f"scf.for %i = %first to %end step %c1 {{ {WORK} }}"
    signature = "%x: f32, %first: index, %end: index"
    assert other(body, signature, points={"f": 12}) == 12
    with pytest.raises(NotCountable, match=r"argument 1 \(index\) decides what is executed; pass points="):
        other(body, signature)
