/* mma.sync (PTX ISA 9.2, section 9.7.14.5): D = A · B + C, with A 16×k, B k×8, and C and D 16×8 spread over the
 * lanes of a warp.  Lane l belongs to group l / 4 and is number l % 4 in it.
 *
 * Products are exact in single precision, and added to C one k after another in single precision; the ISA leaves
 * open in which order and with how many more bits hardware adds.
 */
#include "values.h"
#include "warp.h"

#define ROWS 16
#define COLUMNS 8
#define LARGEST_K 16

typedef struct Operands {
    float a[ROWS][LARGEST_K];
    float b[LARGEST_K][COLUMNS];
    float c[ROWS][COLUMNS];   /* and D */
} Operands;

static int group_of(int lane) { return lane / 4; }
static int place_in_group(int lane) { return lane % 4; }

/* ------------------------------------------------------------------ 16-bit operands, two to a register */

typedef float (*ValueOf)(uint16_t bits);

/* Sections 9.7.14.5.7 (k = 8, figures 71 and 74) and 9.7.14.5.8 (k = 16, figures 79 and 81). */
static inline void gather_16_bit(Warp *warp, Operands *operands, int k, ValueOf value_of) {
    int a_elements = k / 2, b_elements = k / 4;
    int b_argument = a_elements / 2;
    EACH_ACTIVE_LANE(lane) {
        int group = group_of(lane), place = place_in_group(lane);
        for (int i = 0; i < a_elements; i++) {
            int row = group + 8 * (i >> 1 & 1);
            int column = 2 * place + (i & 1) + 8 * (i >> 2);
            operands->a[row][column] = value_of(LANE_ARGUMENT(lane, i / 2, Pair).element[i & 1]);
        }
        for (int i = 0; i < b_elements; i++) {
            int row = 2 * place + (i & 1) + 8 * (i >> 1);
            operands->b[row][group] = value_of(LANE_ARGUMENT(lane, b_argument + i / 2, Pair).element[i & 1]);
        }
    }
}

/* ------------------------------------------------------------------ tf32 operands, one to a register */

/* A float whose lower 13 bits the matrix unit does not read. */
static float float_of_tf32(uint32_t bits) { return float_of_bits(bits & ~0x1FFFu); }

/* Sections 9.7.14.5.6 (k = 4, figures 65 and 67) and 9.7.14.5.7 (k = 8, figures 72 and 75). */
static inline void gather_tf32(Warp *warp, Operands *operands, int k) {
    int a_elements = k / 2, b_elements = k / 4;
    EACH_ACTIVE_LANE(lane) {
        int group = group_of(lane), place = place_in_group(lane);
        for (int i = 0; i < a_elements; i++) {
            int row = group + 8 * (i & 1), column = place + 4 * (i >> 1);
            operands->a[row][column] = float_of_tf32(LANE_ARGUMENT(lane, i, uint32_t));
        }
        for (int i = 0; i < b_elements; i++)
            operands->b[place + 4 * i][group] = float_of_tf32(LANE_ARGUMENT(lane, a_elements + i, uint32_t));
    }
}

/* ------------------------------------------------------------------ accumulators */

/* The same for all shapes: four elements c0 to c3 per lane (figures 69, 77 and 83). */
static int row_of(int lane, int element) { return group_of(lane) + 8 * (element >> 1); }
static int column_of(int lane, int element) { return 2 * place_in_group(lane) + (element & 1); }

static void gather_floats(Warp *warp, Operands *operands, int argument) {
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < 4; i++)
            operands->c[row_of(lane, i)][column_of(lane, i)] = LANE_ARGUMENT(lane, argument + i, float);
    }
}

static void scatter_floats(Warp *warp, const Operands *operands) {
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < 4; i++)
            (&LANE_RESULT(lane, float))[i] = operands->c[row_of(lane, i)][column_of(lane, i)];
    }
}

static void gather_halves(Warp *warp, Operands *operands, int argument) {
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < 4; i++) {
            uint16_t bits = LANE_ARGUMENT(lane, argument + i / 2, Pair).element[i & 1];
            operands->c[row_of(lane, i)][column_of(lane, i)] = float_of_half(bits);
        }
    }
}

static void scatter_halves(Warp *warp, const Operands *operands) {
    EACH_ACTIVE_LANE(lane) {
        for (int i = 0; i < 4; i++)
            (&LANE_RESULT(lane, uint16_t))[i] = half_of_float(operands->c[row_of(lane, i)][column_of(lane, i)]);
    }
}

static inline void multiply(Operands *operands, int k) {
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < k; i++)
            for (int column = 0; column < COLUMNS; column++)
                operands->c[row][column] += operands->a[row][i] * operands->b[i][column];
}

/* ------------------------------------------------------------------ instructions */

/* Arguments: the registers of A (k/4 of them), of B (k/8), and the accumulators. */
static inline void multiply_16_bit(Warp *warp, int k, ValueOf value_of) {
    Operands operands;
    if (!is_whole_warp(warp, "mma.sync")) {
        poison_results(warp, 4 * sizeof(float));
        return;
    }
    gather_16_bit(warp, &operands, k, value_of);
    gather_floats(warp, &operands, k / 4 + k / 8);
    multiply(&operands, k);
    scatter_floats(warp, &operands);
}

static inline void multiply_into_halves(Warp *warp, int k) {
    Operands operands;
    if (!is_whole_warp(warp, "mma.sync")) {
        poison_results(warp, 4 * sizeof(uint16_t));
        return;
    }
    gather_16_bit(warp, &operands, k, float_of_half);
    gather_halves(warp, &operands, k / 4 + k / 8);
    multiply(&operands, k);
    scatter_halves(warp, &operands);
}

static inline void multiply_tf32(Warp *warp, int k) {
    Operands operands;
    if (!is_whole_warp(warp, "mma.sync")) {
        poison_results(warp, 4 * sizeof(float));
        return;
    }
    gather_tf32(warp, &operands, k);
    gather_floats(warp, &operands, k / 2 + k / 4);
    multiply(&operands, k);
    scatter_floats(warp, &operands);
}

COLLECTIVE_MODEL(nvvm_mma_m16n8k16_f16_f32) { multiply_16_bit(warp, 16, float_of_half); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k16_f16_f16) { multiply_into_halves(warp, 16); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k16_bf16) { multiply_16_bit(warp, 16, float_of_bfloat16); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k8_f16_f32) { multiply_16_bit(warp, 8, float_of_half); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k8_f16_f16) { multiply_into_halves(warp, 8); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k8_bf16) { multiply_16_bit(warp, 8, float_of_bfloat16); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k8_tf32) { multiply_tf32(warp, 8); }
COLLECTIVE_MODEL(nvvm_mma_m16n8k4_tf32) { multiply_tf32(warp, 4); }
