/* Products of matrices by a sub-group: cl_intel_subgroup_matrix_multiply_accumulate.
 *
 * A has ROWS rows and 16 columns: lane k has column k, a component for each row.  B has 16 rows and 16 columns: lane n
 * has column n, two rows in a word, the lower row in the lower bits.  C, and what is returned, has ROWS rows and 16
 * columns: lane n has column n, a component for each row.
 */

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups_short : enable

#define DEPTH 16

static float f16_value(ushort bits) { return (float)as_half(bits); }
static float bf16_value(ushort bits) { return as_float((uint)bits << 16); }

#define PRODUCT(FORMAT, ROWS)                                                                                   \
    MODEL float##ROWS intel_sub_group_##FORMAT##_##FORMAT##_matrix_mad_k16(short##ROWS a, int8 b, float##ROWS c) { \
        union { short##ROWS whole; ushort row[ROWS]; } of_lane;                                                 \
        union { float##ROWS whole; float row[ROWS]; } sums = {c};                                               \
        union { int8 whole; ushort row[DEPTH]; } column = {b};                                                  \
        for (int k = 0; k < DEPTH; k++) {                                                                       \
            of_lane.whole = intel_sub_group_shuffle(a, (uint)k);                                                \
            for (int row = 0; row < ROWS; row++)                                                                \
                sums.row[row] = fma(FORMAT##_value(of_lane.row[row]), FORMAT##_value(column.row[k]), sums.row[row]); \
        }                                                                                                       \
        return sums.whole;                                                                                      \
    }
