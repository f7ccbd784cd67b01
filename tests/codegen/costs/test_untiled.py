"""Attention as linalg on whole tensors: what the variants start from."""

from codegen.costs.counting import costs_of, read, written

from harness.codegen.costs.costs import Costs, Traffic

BATCH, QUERIES, KEYS, WIDTH = 6, 8, 12, 4
SCORES = BATCH * QUERIES * KEYS

ATTENTION = """
#full = affine_map<(b, q, k) -> (b, q, k)>
#row = affine_map<(b, q, k) -> (b, q)>
func.func @attention(%q: tensor<6x8x4xf16>, %k: tensor<6x4x12xf16>, %v: tensor<6x12x4xf16>)
    -> tensor<6x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x8x12xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<6x8x12xf32>) -> tensor<6x8x12xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x8x4xf16>, tensor<6x4x12xf16>)
    outs(%sf : tensor<6x8x12xf32>) -> tensor<6x8x12xf32>
  %visible = linalg.generic {indexing_maps = [#full], iterator_types = ["parallel", "parallel", "parallel"]}
    outs(%s : tensor<6x8x12xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %c = arith.cmpi sle, %j, %i : index
    %y = arith.select %c, %x, %lowest : f32
    linalg.yield %y : f32
  } -> tensor<6x8x12xf32>
  %re = tensor.empty() : tensor<6x8xf32>
  %rf = linalg.fill ins(%lowest : f32) outs(%re : tensor<6x8xf32>) -> tensor<6x8xf32>
  %m = linalg.reduce {arith.maximumf} ins(%visible : tensor<6x8x12xf32>) outs(%rf : tensor<6x8xf32>)
    dimensions = [2]
  %pe = tensor.empty() : tensor<6x8x12xf32>
  %p = linalg.generic {indexing_maps = [#full, #row, #full],
      iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%visible, %m : tensor<6x8x12xf32>, tensor<6x8xf32>) outs(%pe : tensor<6x8x12xf32>) {
  ^bb0(%x: f32, %largest: f32, %o: f32):
    %d = arith.subf %x, %largest : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<6x8x12xf32>
  %oe = tensor.empty() : tensor<6x8x4xf32>
  %of = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x8x4xf32>) -> tensor<6x8x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<6x8x12xf32>, tensor<6x12x4xf16>)
    outs(%of : tensor<6x8x4xf32>) -> tensor<6x8x4xf32>
  return %o : tensor<6x8x4xf32>
}
"""


def test_every_operation_reads_its_inputs_and_writes_its_result():
    output = 4 * BATCH * QUERIES * WIDTH
    row = 4 * BATCH * QUERIES
    full = 4 * SCORES
    assert costs_of(ATTENTION) == Costs(
        matmul=2 * 2 * SCORES * WIDTH,
        exp=SCORES,
        other=SCORES + SCORES,
        arguments={
            "arg0": read(2 * BATCH * QUERIES * WIDTH),
            "arg1": read(2 * BATCH * KEYS * WIDTH),
            "arg2": read(2 * BATCH * KEYS * WIDTH),
            "result": Traffic(read=output, written=2 * output),
        },
        scratch=Traffic(
            read=full + full + (full + row) + (full + row) + full,
            written=full + full + full + row + row + full,
        ),
    )


def test_conditions_on_positions_are_evaluated_where_they_decide():
    text = """
    #row = affine_map<(q, k) -> (q, k)>
    func.func @f(%x: tensor<8x12xf32>) {
      %r = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]}
        outs(%x : tensor<8x12xf32>) {
      ^bb0(%a: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %c = arith.cmpi sle, %j, %i : index
        %y = scf.if %c -> f32 {
          %e = math.exp %a : f32
          scf.yield %e : f32
        } else {
          scf.yield %a : f32
        }
        linalg.yield %y : f32
      } -> tensor<8x12xf32>
      return
    }
    """
    assert costs_of(text).exp == sum(range(1, 9))


def test_a_result_is_main_memory():
    text = """
    func.func @f(%s: f32) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.fill ins(%s : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    """
    assert costs_of(text) == Costs(arguments={"result": written(16)})
