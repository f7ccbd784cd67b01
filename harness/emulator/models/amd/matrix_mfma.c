/* MFMA: D = A · B + C over the 64 lanes of a wave, one block, float accumulators.
 *
 * Sources: AMD Instinct MI200, MI300 and CDNA4 ISA, "Matrix Arithmetic Instructions"; layouts as the AMD
 * matrix instruction calculator prints them.  The operands are (A, B, C, cbsz, abid, blgp). */
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

MODEL_PART void multiply(Warp *warp, int size, int depth, Element element) {
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
    multiply_matrices(&product, size, depth);
    EACH_ACTIVE_LANE(lane) {
        float *result = &LANE_RESULT(lane, float);
        for (int run = 0; run < accumulators / 4; run++)
            memcpy(result + 4 * run, accumulator_run(&product, size, lane, run), RUN_BYTES);
    }
}

COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x4_f32) { multiply(warp, 16, 4, float_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x2_f32) { multiply(warp, 32, 2, float_element); }

COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x16_f16) { multiply(warp, 16, 16, half_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x8_f16) { multiply(warp, 32, 8, half_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x16_bf16) { multiply(warp, 16, 16, bfloat16_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x8_bf16) { multiply(warp, 32, 8, bfloat16_element); }

/* gfx90a only: two bfloat16 a lane. */
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x8_bf16) { multiply(warp, 16, 8, bfloat16_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x4_bf16) { multiply(warp, 32, 4, bfloat16_element); }

/* gfx950: eight elements a lane. */
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x32_f16) { multiply(warp, 16, 32, half_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x16_f16) { multiply(warp, 32, 16, half_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_16x16x32_bf16) { multiply(warp, 16, 32, bfloat16_element); }
COLLECTIVE_MODEL(amdgcn_mfma_f32_32x32x16_bf16) { multiply(warp, 32, 16, bfloat16_element); }
