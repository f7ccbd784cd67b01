/* Products of matrices: D = A B + C, by the 16 lanes of a sub-group together.
 *
 * Sources: cl_intel_subgroup_matrix_multiply_accumulate and its _tf32 (names, types and shapes);
 * SPV_INTEL_subgroup_matrix_multiply_accumulate, "Mapping Matrix Data to Invocations" (who holds what).  Lane l holds
 *   column l of B, C and D: the rows of C and D as elements of a vector, those of B packed into 32-bit values with
 *     lower rows in lower bits;
 *   of each row of A the columns that fit into 16 bits, from column l * (16 / bits of an element) on, lower columns
 *     in lower bits.  tf32 has only 8 columns: lanes 0 to 7 hold the even rows and lanes 8 to 15 the odd rows.
 *
 * Two 16-bit products are added, and their sum to the accumulator, k ascending; tf32 has one product a step (Intel
 * Graphics Compiler, documentation of vISA's DPAS).  How each sum is rounded is not documented: here to f32, to
 * nearest, and a 16-bit accumulator once, at the end.  Products of two operands are exact in f32.
 *
 * The last argument, from the registry, is the number M of rows of A, C and D; the one before it is what the name
 * says of the accumulator or of the operands.
 */
#include "sub_group.h"

enum { MAXIMUM_ROWS = 8, MAXIMUM_DEPTH = 64 };

/* The type of C and D as the letter of its mangled name; every other letter is a 16-bit type. */
enum { FLOAT_ACCUMULATOR = 'f' };

static uint16_t bits_16(Warp *warp, int lane, int position, int index) {
    return (&LANE_ARGUMENT(lane, position, uint16_t))[index];
}

static uint32_t bits_32(Warp *warp, int lane, int position, int index) {
    return (&LANE_ARGUMENT(lane, position, uint32_t))[index];
}

static void poison_results(Warp *warp) {
    EACH_ACTIVE_LANE(lane) poison(&LANE_RESULT(lane, char), MAXIMUM_ROWS * sizeof(float));
}

static void add_products(int rows, int depth, float a[][MATRIX_LANES], float b[][MATRIX_LANES],
                         float sum[][MATRIX_LANES]) {
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < depth; k++)
            for (int n = 0; n < MATRIX_LANES; n++) sum[m][n] += a[m][k] * b[k][n];
}

static void add_pairs(int rows, int depth, float a[][MATRIX_LANES], float b[][MATRIX_LANES],
                      float sum[][MATRIX_LANES]) {
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < depth; k += 2)
            for (int n = 0; n < MATRIX_LANES; n++) sum[m][n] += a[m][k] * b[k][n] + a[m][k + 1] * b[k + 1][n];
}

/* ------------------------------------------------------------------ f16 and bf16, depth 16 */

typedef struct Format {
    float (*to_float)(uint16_t);
    uint16_t (*from_float)(float);
} Format;

/* a, b, c, type of the accumulator, rows */
static void multiply_16_bits(Warp *warp, Format format) {
    if (!is_matrix_sub_group(warp, "DPAS")) {
        poison_results(warp);
        return;
    }
    enum { DEPTH = 16 };
    int first = first_lane(warp)->index;
    int is_float = LANE_ARGUMENT(first, 3, int32_t) == FLOAT_ACCUMULATOR;
    int rows = LANE_ARGUMENT(first, 4, int32_t);
    float a[MAXIMUM_ROWS][MATRIX_LANES] = {0}, b[DEPTH][MATRIX_LANES] = {0};
    float sum[MAXIMUM_ROWS][MATRIX_LANES] = {0};
    EACH_ACTIVE_LANE(lane) {
        for (int m = 0; m < rows; m++) {
            a[m][lane] = format.to_float(bits_16(warp, lane, 0, m));
            sum[m][lane] = is_float ? (&LANE_ARGUMENT(lane, 2, float))[m]
                                    : format.to_float(bits_16(warp, lane, 2, m));
        }
        for (int k = 0; k < DEPTH; k++) b[k][lane] = format.to_float(bits_16(warp, lane, 1, k));
    }
    add_pairs(rows, DEPTH, a, b, sum);
    EACH_ACTIVE_LANE(lane)
        for (int m = 0; m < rows; m++) {
            if (is_float) (&LANE_RESULT(lane, float))[m] = sum[m][lane];
            else (&LANE_RESULT(lane, uint16_t))[m] = format.from_float(sum[m][lane]);
        }
}

COLLECTIVE_MODEL(intel_dpas_f16) { multiply_16_bits(warp, (Format){float_of_half, half_of_float}); }
COLLECTIVE_MODEL(intel_dpas_bf16) { multiply_16_bits(warp, (Format){float_of_bfloat16, bfloat16_of_float}); }

/* ------------------------------------------------------------------ tf32, depth 8 */

/* tf32 is an f32 of whose 23 bits of mantissa only the upper 10 are read. */
static float read_tf32(uint32_t bits) {
    uint32_t kept = bits & ~(uint32_t)0x1FFF;
    float value;
    memcpy(&value, &kept, sizeof value);
    return value;
}

/* a, b, c, rows */
COLLECTIVE_MODEL(intel_dpas_tf32) {
    if (!is_matrix_sub_group(warp, "DPAS")) {
        poison_results(warp);
        return;
    }
    enum { DEPTH = 8 };
    int rows = LANE_ARGUMENT(first_lane(warp)->index, 3, int32_t);
    float a[MAXIMUM_ROWS][MATRIX_LANES] = {0}, b[DEPTH][MATRIX_LANES] = {0};
    float sum[MAXIMUM_ROWS][MATRIX_LANES] = {0};
    EACH_ACTIVE_LANE(lane) {
        for (int m = lane / DEPTH; m < rows; m += MATRIX_LANES / DEPTH)
            a[m][lane % DEPTH] = read_tf32(bits_32(warp, lane, 0, m / (MATRIX_LANES / DEPTH)));
        for (int k = 0; k < DEPTH; k++) b[k][lane] = read_tf32(bits_32(warp, lane, 1, k));
        for (int m = 0; m < rows; m++) sum[m][lane] = (&LANE_ARGUMENT(lane, 2, float))[m];
    }
    add_products(rows, DEPTH, a, b, sum);
    EACH_ACTIVE_LANE(lane)
        for (int m = 0; m < rows; m++) (&LANE_RESULT(lane, float))[m] = sum[m][lane];
}

/* ------------------------------------------------------------------ 8 and 4-bit integers, depth 32 and 64 */

/* The integer number `index` of those that are packed into some bits. */
static uint32_t unpacked(uint32_t packed, int index, int bits, int is_signed) {
    uint32_t at_the_top = packed << (32 - bits * (index + 1));
    return is_signed ? (uint32_t)((int32_t)at_the_top >> (32 - bits)) : at_the_top >> (32 - bits);
}

/* Sums keep the low 32 bits of the exact result.  a, b, c, rows */
static void multiply_integers(Warp *warp, int bits, int a_is_signed, int b_is_signed) {
    if (!is_matrix_sub_group(warp, "DPAS")) {
        poison_results(warp);
        return;
    }
    int rows = LANE_ARGUMENT(first_lane(warp)->index, 3, int32_t);
    int a_packed = 16 / bits, b_packed = 32 / bits, depth = MATRIX_LANES * a_packed;
    uint32_t a[MAXIMUM_ROWS][MAXIMUM_DEPTH] = {0}, b[MAXIMUM_DEPTH][MATRIX_LANES] = {0};
    uint32_t sum[MAXIMUM_ROWS][MATRIX_LANES] = {0};
    EACH_ACTIVE_LANE(lane) {
        for (int m = 0; m < rows; m++) {
            for (int i = 0; i < a_packed; i++)
                a[m][lane * a_packed + i] = unpacked(bits_16(warp, lane, 0, m), i, bits, a_is_signed);
            sum[m][lane] = bits_32(warp, lane, 2, m);
        }
        for (int k = 0; k < depth; k++)
            b[k][lane] = unpacked(bits_32(warp, lane, 1, k / b_packed), k % b_packed, bits, b_is_signed);
    }
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < depth; k++)
            for (int n = 0; n < MATRIX_LANES; n++) sum[m][n] += a[m][k] * b[k][n];
    EACH_ACTIVE_LANE(lane)
        for (int m = 0; m < rows; m++) (&LANE_RESULT(lane, uint32_t))[m] = sum[m][lane];
}

COLLECTIVE_MODEL(intel_dpas_i8_i8) { multiply_integers(warp, 8, 1, 1); }
COLLECTIVE_MODEL(intel_dpas_i8_u8) { multiply_integers(warp, 8, 1, 0); }
COLLECTIVE_MODEL(intel_dpas_u8_i8) { multiply_integers(warp, 8, 0, 1); }
COLLECTIVE_MODEL(intel_dpas_u8_u8) { multiply_integers(warp, 8, 0, 0); }
COLLECTIVE_MODEL(intel_dpas_i4_i4) { multiply_integers(warp, 4, 1, 1); }
COLLECTIVE_MODEL(intel_dpas_i4_u4) { multiply_integers(warp, 4, 1, 0); }
COLLECTIVE_MODEL(intel_dpas_u4_i4) { multiply_integers(warp, 4, 0, 1); }
COLLECTIVE_MODEL(intel_dpas_u4_u4) { multiply_integers(warp, 4, 0, 0); }
