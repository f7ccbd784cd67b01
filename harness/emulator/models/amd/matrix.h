/* What the models of MFMA and WMMA instructions share: a product of matrices put together from all lanes.
 *
 * One fused multiply-add after the other, k ascending, is what hardware does for float operands.  For 16-bit
 * ones each generation adds in a way of its own, of which gfx90a's is modelled (matrix_mfma.c): see the table of
 * docs/emulator.md, "How matrix instructions round". */
#ifndef HARNESS_AMD_MATRIX_H
#define HARNESS_AMD_MATRIX_H

#include <math.h>

#include "emulator.h"

#define LARGEST_MATRIX 32

/* Row-major; `a` is rows × k, `b` is k × columns, `c` is the accumulator. */
typedef struct Product {
    float a[LARGEST_MATRIX][LARGEST_MATRIX];
    float b[LARGEST_MATRIX][LARGEST_MATRIX];
    float c[LARGEST_MATRIX][LARGEST_MATRIX];
} Product;

/* Inline, so that the compiler knows sizes and types of each instruction: most of the time of an emulated
 * kernel is spent here. */
#define MODEL_PART static inline __attribute__((always_inline, unused))

/* Columns of the innermost loop, known to the compiler. */
#define COLUMN_BLOCK 16

/* Add a multiple of a row of B to a row of C. */
MODEL_PART void add_multiple(float *restrict c, float factor, const float *restrict b) {
    for (int column = 0; column < COLUMN_BLOCK; column++) c[column] = fmaf(factor, b[column], c[column]);
}

/* c += a · b, for square c of a size that is a multiple of 16. */
MODEL_PART void multiply_matrices(Product *product, int size, int depth) {
    for (int row = 0; row < size; row++)
        for (int first = 0; first < size; first += COLUMN_BLOCK)
            for (int k = 0; k < depth; k++)
                add_multiple(&product->c[row][first], product->a[row][k], &product->b[k][first]);
}

/* An element of a lane's operand. */
typedef float (*Element)(const char *operand, int position);

MODEL_PART float half_element(const char *operand, int position) {
    return float_of_half(((const uint16_t *)operand)[position]);
}

MODEL_PART float bfloat16_element(const char *operand, int position) {
    return float_of_bfloat16(((const uint16_t *)operand)[position]);
}

MODEL_PART float float_element(const char *operand, int position) { return ((const float *)operand)[position]; }

#endif
