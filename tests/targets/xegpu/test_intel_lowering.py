"""What stands between a lane's operations and SPIR-V: own operations, leftovers, arrays of lanes."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.system.errors import BuildError
from harness.targets.lowering.transforms import replace_operations
from harness.targets.xegpu.lane_operations import (
    REPLACEMENTS,
    cut_words,
    require_lowered,
)

KERNEL = """
gpu.module @kernels {{
  gpu.func @kernel(%value: f32, %other: f32, %number: index, %out: memref<?xf32>) kernel {{
    {body}
    gpu.return
  }}
}}
"""
MEMORY_FENCE = "xevm.memfence <{addrspace = #xevm.addr_space<global>, scope = #xevm.mem_scope<workgroup>}>"
THREAD = """
    %thread = gpu.thread_id x
    %lanes = arith.constant 16 : index
"""


def replaced(body: str) -> str:
    with mlir_context():
        module = ir.Module.parse(KERNEL.format(body=body))
        replace_operations(module, REPLACEMENTS)
        module.operation.verify()
        return str(module)


@pytest.mark.parametrize(
    ("body", "present", "absent"),
    [
        (THREAD + "%lane = arith.remui %thread, %lanes : index", "gpu.lane_id", "remui"),
        (THREAD + "%group = arith.divui %thread, %lanes : index", "gpu.subgroup_id", "divui"),
        (THREAD + "%half = arith.divui %number, %lanes : index", "arith.divui", "subgroup_id"),
        ("%a = math.exp2 %value : f32", "math.exp2 %arg0 fastmath<afn>", "contract"),
        ("%a = arith.maximumf %value, %other : f32", "arith.maxnumf", "maximumf"),
    ],
)
def test_operations_of_the_hardware_stand_for_others(body: str, present: str, absent: str) -> None:
    text = replaced(body)
    assert present in text
    assert absent not in text


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("xegpu.fence memory_kind = global, fence_scope = workgroup", "xegpu.fence"),
        (MEMORY_FENCE, "xevm.memfence"),
        (
            "%lane = gpu.lane_id\ngpu.warp_execute_on_lane_0(%lane)[16] {\n gpu.yield\n}",
            "gpu.warp_execute_on_lane_0",
        ),
    ],
)
def test_what_the_lowering_leaves_behind_fails_the_build_by_its_name(body: str, name: str) -> None:
    with mlir_context():
        module = ir.Module.parse(KERNEL.format(body=body))
        with pytest.raises(BuildError, match=f"left behind by the lowering: {name}$"):
            require_lowered(module)


def test_a_lowered_module_passes() -> None:
    with mlir_context():
        require_lowered(ir.Module.parse(KERNEL.format(body=THREAD)))


SLICES = """
    %words = vector.broadcast %word : i32 to vector<16xi32>
    %elements = vector.bitcast %words : vector<16xi32> to vector<32xf16>
    %piece = vector.extract_strided_slice %elements {{offsets = [{start}], sizes = [16], strides = [1]}}
      : vector<32xf16> to vector<16xf16>
    %used = vector.bitcast %piece : vector<16xf16> to vector<8xi32>
"""


def sliced(start: int) -> str:
    with mlir_context():
        text = KERNEL.replace("%value: f32", "%value: f32, %word: i32").format(
            body=SLICES.format(start=start)
        )
        module = ir.Module.parse(text)
        cut_words(module)
        module.operation.verify()
        return str(module)


def test_a_fragment_is_cut_out_of_the_words() -> None:
    assert "offsets = [8], sizes = [8], strides = [1]} : vector<16xi32> to vector<8xi32>" in sliced(16)


def test_a_fragment_that_begins_within_a_word_is_left() -> None:
    assert "offsets = [15], sizes = [16], strides = [1]} : vector<32xf16> to vector<16xf16>" in sliced(15)
