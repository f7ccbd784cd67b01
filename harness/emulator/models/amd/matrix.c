/* Products of matrices; see matrix.h. */
#include "matrix.h"

/* Columns of the innermost loop, known to the compiler. */
#define COLUMN_BLOCK 16

/* Add a multiple of a row of B to a row of C. */
static void add_multiple(float *restrict c, float factor, const float *restrict b) {
    for (int column = 0; column < COLUMN_BLOCK; column++) c[column] += factor * b[column];
}

void amdgcn_multiply(Product *product, int size, int depth) {
    for (int row = 0; row < size; row++)
        for (int first = 0; first < size; first += COLUMN_BLOCK)
            for (int k = 0; k < depth; k++)
                add_multiple(&product->c[row][first], product->a[row][k], &product->b[k][first]);
}

float amdgcn_half_element(const char *operand, int position) {
    return float_of_half(((const uint16_t *)operand)[position]);
}

float amdgcn_bfloat16_element(const char *operand, int position) {
    return float_of_bfloat16(((const uint16_t *)operand)[position]);
}

float amdgcn_float_element(const char *operand, int position) { return ((const float *)operand)[position]; }

void amdgcn_set_half_element(char *result, int position, float value) {
    ((uint16_t *)result)[position] = half_of_float(value);
}

void amdgcn_set_bfloat16_element(char *result, int position, float value) {
    ((uint16_t *)result)[position] = bfloat16_of_float(value);
}

void amdgcn_set_float_element(char *result, int position, float value) {
    ((float *)result)[position] = value;
}
