/* What the models of MFMA and WMMA instructions share: a product of matrices put together from all lanes.
 *
 * Products are exact for 16-bit operands and sums are rounded to float after each step of k, in order;
 * hardware adds in another order and does not say which. */
#ifndef HARNESS_AMD_MATRIX_H
#define HARNESS_AMD_MATRIX_H

#include "emulator.h"

#define LARGEST_MATRIX 32

/* Row-major; `a` is rows × k, `b` is k × columns, `c` is the accumulator. */
typedef struct Product {
    float a[LARGEST_MATRIX][LARGEST_MATRIX];
    float b[LARGEST_MATRIX][LARGEST_MATRIX];
    float c[LARGEST_MATRIX][LARGEST_MATRIX];
} Product;

/* c += a · b, for square c of a size that is a multiple of 16. */
void amdgcn_multiply(Product *product, int size, int depth);

/* An element of a lane's operand. */
typedef float (*Element)(const char *operand, int position);
float amdgcn_half_element(const char *operand, int position);
float amdgcn_bfloat16_element(const char *operand, int position);
float amdgcn_float_element(const char *operand, int position);

/* Set an element of a lane's result, rounded to nearest. */
typedef void (*SetElement)(char *result, int position, float value);
void amdgcn_set_half_element(char *result, int position, float value);
void amdgcn_set_bfloat16_element(char *result, int position, float value);
void amdgcn_set_float_element(char *result, int position, float value);

#endif
