"""What the `attn` dialect consists of, in MLIR's own language for defining dialects (IRDL).

The names of operands, results and attributes here are those that verifier messages use.  IRDL checks
counts and kinds; shapes are checked by `harness.codegen.dialect.verification`.
"""

from mlir import ir
from mlir.dialects import irdl

SOFTMAX = """{
    %full_type = irdl.base "!builtin.tensor"
    %row_type = irdl.base "!builtin.tensor"
    %dimension = irdl.base "#builtin.integer"
    %scale = irdl.base "#builtin.float"
    irdl.operands(x: %full_type, probability_out: %full_type, initial_maximum: %row_type,
                  initial_total: %row_type, correction_out: %row_type)
    irdl.results(probability: %full_type, maximum: %row_type, total: %row_type, correction: %row_type)
    irdl.attributes {"dimension" = %dimension, "scale" = %scale}
  }"""
"""What both softmaxes take and give."""

DIALECT = """
irdl.dialect @attn {

  // result[m, n] = init[m, n] + sum over k of lhs[m, k] * rhs[k, n], for any leading batch dimensions.
  // `layout` says which operands are stored transposed: nn, nt (rhs[n, k]), tn (lhs[k, m]), tt.
  irdl.operation @batch_matmul {
    %lhs_type = irdl.base "!builtin.tensor"
    %rhs_type = irdl.base "!builtin.tensor"
    %result_type = irdl.base "!builtin.tensor"
    %nn = irdl.is "nn"
    %nt = irdl.is "nt"
    %tn = irdl.is "tn"
    %tt = irdl.is "tt"
    %layout = irdl.any_of(%nn, %nt, %tn, %tt)
    irdl.operands(lhs: %lhs_type, rhs: %rhs_type, init: %result_type)
    irdl.results(product: %result_type)
    irdl.attributes {"layout" = %layout}
  }

  // With c = `scale` and d = `dimension`:
  //   maximum     = max(initial_maximum, max over d of x)
  //   total       = initial_total * e^(c (initial_maximum - maximum)) + sum over d of e^(c (x - maximum))
  //   probability = e^(c (x - maximum)) / total
  //   correction  = initial_total * e^(c (initial_maximum - maximum)) / total
  // 0 / 0 is 0: a row without any weight yet has probability and correction 0.
  // With a unit attribute `subtracts_first` exponents are c times a difference, which is right whatever x is;
  // without it c x - c maximum may be one fused multiply-add.
  // With an integer attribute `shift`, s, each e^(c (x - maximum)) is multiplied by 2^s, and
  //   probability = 2^s (2^s e^(c (x - maximum))) / total
  // so that probability and total are 2^s times what they are without it, and the correction is the same.
  // With an integer attribute `slack`, s, a running maximum stays until one of x exceeds it by more than s
  // powers of two, c (x - maximum) > s log 2: any number near the maximum serves as well.
  irdl.operation @softmax SOFTMAX_FORM

  // The same without the division:
  //   probability = e^(c (x - maximum)),   correction = e^(c (initial_maximum - maximum))
  irdl.operation @unnormalized_softmax SOFTMAX_FORM

  // Attention that goes on from what it gives for earlier keys, for any leading batch dimensions.  With
  //   score = query . key^T + bias / `scale`, and -inf where the mask is 0,
  // the softmax above of the scores, with `scale` > 0 and continued from initial_maximum and initial_total,
  // gives maximum, total and
  //   output = correction * init + probability . value
  // which is exact attention over all keys so far.  init 0, a very low maximum and total 0 stand for no key.
  // The mask (8-bit integers) and the bias are optional; `mask_axes` and `bias_axes` list the axes of the
  // scores [.., query, key] that each has.
  irdl.operation @attention {
    %query_type = irdl.base "!builtin.tensor"
    %key_type = irdl.base "!builtin.tensor"
    %value_type = irdl.base "!builtin.tensor"
    %output_type = irdl.base "!builtin.tensor"
    %row_type = irdl.base "!builtin.tensor"
    %mask_type = irdl.base "!builtin.tensor"
    %bias_type = irdl.base "!builtin.tensor"
    %scale = irdl.base "#builtin.float"
    %axes = irdl.any
    %more_axes = irdl.any
    irdl.operands(query: %query_type, key: %key_type, value: %value_type, init: %output_type,
                  initial_maximum: %row_type, initial_total: %row_type, mask: optional %mask_type,
                  bias: optional %bias_type)
    irdl.results(output: %output_type, maximum: %row_type, total: %row_type)
    irdl.attributes {"scale" = %scale, "mask_axes" = %axes, "bias_axes" = %more_axes}
  }

  // result[.., i, j] = x[.., i] where i = j, else 0.
  irdl.operation @diag {
    %vector_type = irdl.base "!builtin.tensor"
    %matrix_type = irdl.base "!builtin.tensor"
    irdl.operands(x: %vector_type, out: %matrix_type)
    irdl.results(matrix: %matrix_type)
  }

  // Keeps the elements of x at whose position every result of the map `visible` is at least 0; the others
  // become `fill`.  The map's dimensions are positions in a whole tensor of which x is a tile: x's axis a
  // runs along map dimension dimensions[a], from offset number dimensions[a] on.  The offsets along all
  // dimensions are operands, the values of the map's symbols follow.
  irdl.operation @mask {
    %type = irdl.base "!builtin.tensor"
    %index = irdl.is index
    %map = irdl.base "#builtin.affine_map"
    %dimensions = irdl.any
    %fill = irdl.base "#builtin.float"
    irdl.operands(x: %type, offsets: variadic %index)
    irdl.results(masked: %type)
    irdl.attributes {"visible" = %map, "dimensions" = %dimensions, "fill" = %fill}
  }

  // A mask whose map has one symbol: for element i along x's first axis it is lengths[i].
  irdl.operation @length_mask {
    %type = irdl.base "!builtin.tensor"
    %lengths_type = irdl.base "!builtin.tensor"
    %index = irdl.is index
    %map = irdl.base "#builtin.affine_map"
    %dimensions = irdl.any
    %fill = irdl.base "#builtin.float"
    irdl.operands(x: %type, lengths: %lengths_type, offsets: variadic %index)
    irdl.results(masked: %type)
    irdl.attributes {"visible" = %map, "dimensions" = %dimensions, "fill" = %fill}
  }

  // Keeps of row i of x the columns j with first[i] <= offset + j < end[i]; the others become `fill`.
  // x is [.., rows, columns], the same bounds hold for all leading dimensions.
  irdl.operation @row_mask {
    %type = irdl.base "!builtin.tensor"
    %bounds_type = irdl.base "!builtin.tensor"
    %index = irdl.is index
    %fill = irdl.base "#builtin.float"
    irdl.operands(x: %type, first: %bounds_type, end: %bounds_type, offset: %index)
    irdl.results(masked: %type)
    irdl.attributes {"fill" = %fill}
  }
}
""".replace("SOFTMAX_FORM", SOFTMAX)


def load(context: ir.Context) -> None:
    """Register the dialect with a context; once per context."""
    with context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(DIALECT))
