/* MFMA: D = A · B + C over the 64 lanes of a wave, one block, float accumulators.
 *
 * Sources: AMD Instinct MI200, MI300 and CDNA4 ISA, "Matrix Arithmetic Instructions"; layouts as the AMD
 * matrix instruction calculator prints them.  The operands are (A, B, C, cbsz, abid, blgp). */
#include <float.h>

#include "matrix.h"
#include "waves.h"

#define WAVE 64

/* With square C of `size`, lane l belongs to group l / size.  It holds of A the row l % size and of B the
 * column l % size, for the k of its group: as many as it has elements, one after another.
 *
 * The product is computed transposed, Dᵀ = Bᵀ · Aᵀ + Cᵀ: what a lane holds of C then lies in runs. */
MODEL_PART void gather(Warp *warp, Product *product, int size, int per_lane, Element element) {
    EACH_ACTIVE_LANE(lane) {
        int line = lane % size, group = lane / size;
        const char *a = &LANE_ARGUMENT(lane, 0, char), *b = &LANE_ARGUMENT(lane, 1, char);
        for (int i = 0; i < per_lane; i++) {
            product->a[line][group * per_lane + i] = element(b, i);
            product->b[group * per_lane + i][line] = element(a, i);
        }
    }
}

/* Of C and D it holds the column l % size, of that four rows of each run of four rows per group.  Returns where the
 * lane's run of that number lies in the transposed product. */
MODEL_PART float *accumulator_run(Product *product, int size, int lane, int run) {
    int groups = WAVE / size, group = lane / size;
    return &product->c[lane % size][4 * groups * run + 4 * group];
}

#define RUN_BYTES (4 * sizeof(float))

/* Whether nothing is broadcast or permuted on the way; reports it otherwise. */
static int is_plain(Warp *warp) {
    int lane = first_active(warp);
    int cbsz = LANE_ARGUMENT(lane, 3, int32_t), abid = LANE_ARGUMENT(lane, 4, int32_t);
    int blgp = LANE_ARGUMENT(lane, 5, int32_t);
    if (!cbsz && !abid && !blgp) return 1;
    report(FINDING_UNSUPPORTED_OPERAND, warp->lanes[lane], "cbsz %d, abid %d, blgp %d", cbsz, abid, blgp);
    return 0;
}

/* How an instruction adds up products. */
typedef void (*Multiply)(Product *product, int size, int depth);

MODEL_PART void execute(Warp *warp, int size, int depth, Element element, Multiply multiply) {
    int per_lane = depth * size / WAVE, accumulators = size * size / WAVE;
    if (!is_full_wave(warp, WAVE) || !is_plain(warp)) {
        spoil_results(warp, (size_t)accumulators * sizeof(float));
        return;
    }
    Product product;
    gather(warp, &product, size, per_lane, element);
    EACH_ACTIVE_LANE(lane) {
        const float *given = &LANE_ARGUMENT(lane, 2, float);
        for (int run = 0; run < accumulators / 4; run++)
            memcpy(accumulator_run(&product, size, lane, run), given + 4 * run, RUN_BYTES);
    }
    multiply(&product, size, depth);
    EACH_ACTIVE_LANE(lane) {
        float *result = &LANE_RESULT(lane, float);
        for (int run = 0; run < accumulators / 4; run++)
            memcpy(result + 4 * run, accumulator_run(&product, size, lane, run), RUN_BYTES);
    }
}

COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x4_f32) { execute(warp, 16, 4, float_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x2_f32) { execute(warp, 32, 2, float_element, multiply_matrices); }

COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x16_f16) { execute(warp, 16, 16, half_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x8_f16) { execute(warp, 32, 8, half_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x16_bf16) { execute(warp, 16, 16, bfloat16_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x8_bf16) { execute(warp, 32, 8, bfloat16_element, multiply_matrices); }

/* gfx950: eight elements a lane. */
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x32_f16) { execute(warp, 16, 32, half_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x16_f16) { execute(warp, 32, 16, half_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x32_bf16) { execute(warp, 16, 32, bfloat16_element, multiply_matrices); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x16_bf16) { execute(warp, 32, 16, bfloat16_element, multiply_matrices); }

/* ------------------------------------------------------------------ gfx90a, 16-bit operands
 *
 * Subnormal numbers are 0, as inputs and as results: PyTorch's note "Numerical accuracy" and MIOpen's
 * documentation, "MI200 MFMA behavior specifics".  That sums are made in groups, each a tree of pairs, and that
 * every sum is flushed is measured: Xie and others, MMA-Sim, arXiv 2511.10909. */

MODEL_PART float flushed(float value) { return fabsf(value) < FLT_MIN ? copysignf(0, value) : value; }

MODEL_PART float flushed_half_element(const char *operand, int position) {
    uint16_t bits = ((const uint16_t *)operand)[position];
    return bits & 0x7C00 ? float_of_half(bits) : 0;
}

MODEL_PART float flushed_bfloat16_element(const char *operand, int position) {
    return flushed(bfloat16_element(operand, position));
}

/* The sum of two products, in the columns of a block. */
MODEL_PART float pair(const Product *product, int row, int k, int column) {
    return flushed(flushed(product->a[row][k] * product->b[k][column]) +
                   flushed(product->a[row][k + 1] * product->b[k + 1][column]));
}

MODEL_PART void multiply_pairs(Product *product, int size, int depth) {
    for (int row = 0; row < size; row++)
        for (int first = 0; first < size; first += COLUMN_BLOCK)
            for (int k = 0; k < depth; k += 2)
                for (int column = first; column < first + COLUMN_BLOCK; column++) {
                    float *c = &product->c[row][column];
                    *c = flushed(flushed(*c) + pair(product, row, k, column));
                }
}

MODEL_PART void multiply_fours(Product *product, int size, int depth) {
    for (int row = 0; row < size; row++)
        for (int first = 0; first < size; first += COLUMN_BLOCK)
            for (int k = 0; k < depth; k += 4)
                for (int column = first; column < first + COLUMN_BLOCK; column++) {
                    float *c = &product->c[row][column];
                    float four = pair(product, row, k, column) + pair(product, row, k + 2, column);
                    *c = flushed(flushed(*c) + flushed(four));
                }
}

COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_16x16x16_f16) {
    execute(warp, 16, 16, flushed_half_element, multiply_fours);
}
COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_32x32x8_f16) {
    execute(warp, 32, 8, flushed_half_element, multiply_fours);
}
COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_16x16x16_bf16) {
    execute(warp, 16, 16, flushed_bfloat16_element, multiply_fours);
}
COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_32x32x8_bf16) {
    execute(warp, 32, 8, flushed_bfloat16_element, multiply_fours);
}

/* The older ones, of two bfloat16 a lane. */
COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_16x16x8_bf16) {
    execute(warp, 16, 8, flushed_bfloat16_element, multiply_pairs);
}
COLLECTIVE_MODEL(amdgcn_mfma_gfx90a_f32_32x32x4_bf16) {
    execute(warp, 32, 4, flushed_bfloat16_element, multiply_pairs);
}
