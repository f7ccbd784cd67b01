/* Products of matrices: D = A B + C, by the 16 lanes of a sub-group together.
 *
 * Sources: cl_intel_subgroup_matrix_multiply_accumulate (names, types and shapes);
 * SPV_INTEL_subgroup_matrix_multiply_accumulate, "Mapping Matrix Data to Invocations" (who holds what).  Lane l holds
 *   column l of B, C and D: the rows of C and D as elements of a vector, those of B packed into 32-bit values with
 *     lower rows in lower bits;
 *   of each row of A the element in column l.
 *
 * Two 16-bit products are added, and their sum to the accumulator, k ascending (Intel Graphics Compiler,
 * documentation of vISA's DPAS).  How each sum is rounded is not documented: here to f32, to nearest.  Products of
 * two operands are exact in f32.
 *
 * The last argument, from the registry, is the number M of rows of A, C and D.
 */
#include "sub_group.h"

enum { MAXIMUM_ROWS = 8, DEPTH = 16 };

static uint16_t bits_16(Warp *warp, int lane, int position, int index) {
    return (&LANE_ARGUMENT(lane, position, uint16_t))[index];
}

static void poison_results(Warp *warp) {
    EACH_ACTIVE_LANE(lane) poison(&LANE_RESULT(lane, char), MAXIMUM_ROWS * sizeof(float));
}

static void add_pairs(int rows, float a[][MATRIX_LANES], float b[][MATRIX_LANES], float sum[][MATRIX_LANES]) {
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < DEPTH; k += 2)
            for (int n = 0; n < MATRIX_LANES; n++) sum[m][n] += a[m][k] * b[k][n] + a[m][k + 1] * b[k + 1][n];
}

typedef float (*ToFloat)(uint16_t);

/* a, b, c, rows */
static void multiply(Warp *warp, ToFloat to_float) {
    if (!is_matrix_sub_group(warp, "DPAS")) {
        poison_results(warp);
        return;
    }
    int rows = LANE_ARGUMENT(first_lane(warp)->index, 3, int32_t);
    float a[MAXIMUM_ROWS][MATRIX_LANES] = {0}, b[DEPTH][MATRIX_LANES] = {0};
    float sum[MAXIMUM_ROWS][MATRIX_LANES] = {0};
    EACH_ACTIVE_LANE(lane) {
        for (int m = 0; m < rows; m++) {
            a[m][lane] = to_float(bits_16(warp, lane, 0, m));
            sum[m][lane] = (&LANE_ARGUMENT(lane, 2, float))[m];
        }
        for (int k = 0; k < DEPTH; k++) b[k][lane] = to_float(bits_16(warp, lane, 1, k));
    }
    add_pairs(rows, a, b, sum);
    EACH_ACTIVE_LANE(lane)
        for (int m = 0; m < rows; m++) (&LANE_RESULT(lane, float))[m] = sum[m][lane];
}

COLLECTIVE_MODEL(intel_dpas_f16) { multiply(warp, float_of_half); }
COLLECTIVE_MODEL(intel_dpas_bf16) { multiply(warp, float_of_bfloat16); }
