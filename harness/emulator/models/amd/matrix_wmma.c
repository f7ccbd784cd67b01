/* WMMA: D = A · B + C, 16×16×16, over the 32 lanes of a wave.
 *
 * Sources: RDNA3 ISA, section 7.9, and RDNA4 ISA, "Wave Matrix Multiply Accumulate (WMMA)"; layouts as
 * the AMD matrix instruction calculator prints them.  Lane l holds of A the row l % 16, and of B, C and D
 * the column l % 16. */
#include "matrix.h"
#include "waves.h"

#define WAVE 32
#define SIZE 16

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

MODEL_PART void multiply_gfx11(Warp *warp, Element element) {
    if (!is_full_wave(warp, WAVE)) {
        spoil_results(warp, ACCUMULATORS * sizeof(float));
        return;
    }
    Product product;
    report_unreplicated(warp, 0);
    report_unreplicated(warp, 1);
    EACH_ACTIVE_LANE(lane) {
        int line = lane % SIZE;
        for (int i = 0; i < ACCUMULATORS; i++)
            product.c[row_gfx11(lane, i)][line] = (&LANE_ARGUMENT(lane, 2, float))[i];
        if (lane >= SIZE) continue;
        for (int k = 0; k < SIZE; k++) {
            product.a[line][k] = element(&LANE_ARGUMENT(lane, 0, char), k);
            product.b[k][line] = element(&LANE_ARGUMENT(lane, 1, char), k);
        }
    }
    multiply_matrices(&product, SIZE, SIZE);
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < ACCUMULATORS; i++)
            (&LANE_RESULT(lane, float))[i] = product.c[row_gfx11(lane, i)][lane % SIZE];
    }
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f32_f16) { multiply_gfx11(warp, half_element); }
COLLECTIVE_MODEL(amdgcn_wmma_gfx11_f32_bf16) { multiply_gfx11(warp, bfloat16_element); }

/* ------------------------------------------------------------------ gfx12 */

/* A lane holds 8 of the 16 k: two runs of four, the other two being in the other half of the wave.  A and
 * B agree on the order, so it shows in no result. */
MODEL_PART int k_gfx12(int lane, int i) { return 8 * (i / 4) + 4 * (lane / SIZE) + i % 4; }

MODEL_PART int row_gfx12(int lane, int i) { return 8 * (lane / SIZE) + i; }

MODEL_PART void multiply_gfx12(Warp *warp, Element element) {
    if (!is_full_wave(warp, WAVE)) {
        spoil_results(warp, ACCUMULATORS * sizeof(float));
        return;
    }
    Product product;
    EACH_ACTIVE_LANE(lane) {
        int line = lane % SIZE;
        for (int i = 0; i < ACCUMULATORS; i++) {
            product.a[line][k_gfx12(lane, i)] = element(&LANE_ARGUMENT(lane, 0, char), i);
            product.b[k_gfx12(lane, i)][line] = element(&LANE_ARGUMENT(lane, 1, char), i);
            product.c[row_gfx12(lane, i)][line] = (&LANE_ARGUMENT(lane, 2, float))[i];
        }
    }
    multiply_matrices(&product, SIZE, SIZE);
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < ACCUMULATORS; i++)
            (&LANE_RESULT(lane, float))[i] = product.c[row_gfx12(lane, i)][lane % SIZE];
    }
}

COLLECTIVE_MODEL(amdgcn_wmma_gfx12_f32_f16) { multiply_gfx12(warp, half_element); }
COLLECTIVE_MODEL(amdgcn_wmma_gfx12_f32_bf16) { multiply_gfx12(warp, bfloat16_element); }
