/* WMMA: D = A · B + C, 16×16×16, over the 32 lanes of a wave.
 *
 * Sources: RDNA3 ISA, section 7.9, and RDNA4 ISA, "Wave Matrix Multiply Accumulate (WMMA)"; layouts as
 * the AMD matrix instruction calculator prints them.  Lane l holds of A the row l % 16, and of B, C and D
 * the column l % 16. */
#include "matrix.h"
#include "waves.h"

#define WAVE 32
#define SIZE 16

/* How C and D lie in a lane's vector. */
typedef struct Accumulator {
    Element element;
    SetElement set_element;
    int stride;        /* elements of the vector for one of the matrix */
    int vector_bytes;
} Accumulator;

static const Accumulator FLOATS = {float_element, set_float_element, 1, 32};

/* gfx11: 16-bit elements lie in one half of a 32-bit register each. */
static const Accumulator SPREAD_HALFS = {half_element, set_half_element, 2, 32};
static const Accumulator SPREAD_BFLOAT16S = {bfloat16_element, set_bfloat16_element, 2, 32};

/* gfx12: they lie densely. */
static const Accumulator HALFS = {half_element, set_half_element, 1, 16};
static const Accumulator BFLOAT16S = {bfloat16_element, set_bfloat16_element, 1, 16};

#define ACCUMULATORS 8   /* elements of C that a lane holds, one of every pair of rows or a run of rows */

/* ------------------------------------------------------------------ gfx11 */

/* All 16 k lie in one lane, and lanes 16 to 31 must hold what lanes 0 to 15 hold. */
static void report_unreplicated(Warp *warp, int position) {
    EACH_ACTIVE_LANE(lane) {
        if (lane < SIZE) continue;
        if (memcmp(&LANE_ARGUMENT(lane, position, char), &LANE_ARGUMENT(lane - SIZE, position, char), 32))
            report(FINDING_REPLICATION, warp->lanes[lane], "operand %c differs from lane %d's",
                   "AB"[position], lane - SIZE);
    }
}

MODEL_PART int row_gfx11(int lane, int i) { return 2 * i + lane / SIZE; }

/* `high`: whether 16-bit accumulators lie in the upper halves.  `tied`: whether the other halves of D are
 * those of C; they are undefined otherwise. */
MODEL_PART void multiply_gfx11(Warp *warp, Element element, const Accumulator *accumulator, int high, int tied) {
    if (!is_full_wave(warp, WAVE)) {
        spoil_results(warp, (size_t)accumulator->vector_bytes);
        return;
    }
    Product product;
    report_unreplicated(warp, 0);
    report_unreplicated(warp, 1);
    EACH_ACTIVE_LANE(lane) {
        int line = lane % SIZE;
        for (int i = 0; i < ACCUMULATORS; i++)
            product.c[row_gfx11(lane, i)][line] =
                accumulator->element(&LANE_ARGUMENT(lane, 2, char), accumulator->stride * i + high);
        if (lane >= SIZE) continue;
        for (int k = 0; k < SIZE; k++) {
            product.a[line][k] = element(&LANE_ARGUMENT(lane, 0, char), k);
            product.b[k][line] = element(&LANE_ARGUMENT(lane, 1, char), k);
        }
    }
    multiply_matrices(&product, SIZE, SIZE);
    EACH_ACTIVE_LANE(lane) {
        char *result = &LANE_RESULT(lane, char);
        if (tied) copy_argument(warp, lane, lane, 2, (size_t)accumulator->vector_bytes);
        else memset(result, UNDEFINED_BYTE, (size_t)accumulator->vector_bytes);
        for (int i = 0; i < ACCUMULATORS; i++)
            accumulator->set_element(result, accumulator->stride * i + high,
                                     product.c[row_gfx11(lane, i)][lane % SIZE]);
    }
}

/* The operand that chooses a half of the registers. */
static int upper_half(Warp *warp) { return LANE_ARGUMENT(first_active(warp), 3, uint8_t) & 1; }

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f32_f16) { multiply_gfx11(warp, half_element, &FLOATS, 0, 0); }
COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f32_bf16) { multiply_gfx11(warp, bfloat16_element, &FLOATS, 0, 0); }

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f16_f16) {
    multiply_gfx11(warp, half_element, &SPREAD_HALFS, upper_half(warp), 0);
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f16_f16_tied) {
    multiply_gfx11(warp, half_element, &SPREAD_HALFS, upper_half(warp), 1);
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_bf16_bf16) {
    multiply_gfx11(warp, bfloat16_element, &SPREAD_BFLOAT16S, upper_half(warp), 0);
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_bf16_bf16_tied) {
    multiply_gfx11(warp, bfloat16_element, &SPREAD_BFLOAT16S, upper_half(warp), 1);
}

/* ------------------------------------------------------------------ gfx12 */

/* A lane holds 8 of the 16 k: two runs of four, the other two being in the other half of the wave.  A and
 * B agree on the order, so it shows in no result. */
MODEL_PART int k_gfx12(int lane, int i) { return 8 * (i / 4) + 4 * (lane / SIZE) + i % 4; }

MODEL_PART int row_gfx12(int lane, int i) { return 8 * (lane / SIZE) + i; }

MODEL_PART void multiply_gfx12(Warp *warp, Element element, const Accumulator *accumulator) {
    if (!is_full_wave(warp, WAVE)) {
        spoil_results(warp, (size_t)accumulator->vector_bytes);
        return;
    }
    Product product;
    EACH_ACTIVE_LANE(lane) {
        int line = lane % SIZE;
        for (int i = 0; i < ACCUMULATORS; i++) {
            product.a[line][k_gfx12(lane, i)] = element(&LANE_ARGUMENT(lane, 0, char), i);
            product.b[k_gfx12(lane, i)][line] = element(&LANE_ARGUMENT(lane, 1, char), i);
            product.c[row_gfx12(lane, i)][line] = accumulator->element(&LANE_ARGUMENT(lane, 2, char), i);
        }
    }
    multiply_matrices(&product, SIZE, SIZE);
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < ACCUMULATORS; i++)
            accumulator->set_element(&LANE_RESULT(lane, char), i, product.c[row_gfx12(lane, i)][lane % SIZE]);
    }
}

/* gfx12 has no upper halves to choose. */
static void report_upper_half(Warp *warp) {
    if (upper_half(warp)) report(FINDING_UNSUPPORTED_OPERAND, warp->lanes[first_active(warp)], "op_sel 1");
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx12_f32_f16) { multiply_gfx12(warp, half_element, &FLOATS); }
COLLECTIVE_MODEL(amdgcn_wmma_gfx12_f32_bf16) { multiply_gfx12(warp, bfloat16_element, &FLOATS); }

COLLECTIVE_MODEL(amdgcn_wmma_gfx12_f16_f16) {
    report_upper_half(warp);
    multiply_gfx12(warp, half_element, &HALFS);
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx12_bf16_bf16) {
    report_upper_half(warp);
    multiply_gfx12(warp, bfloat16_element, &BFLOAT16S);
}
