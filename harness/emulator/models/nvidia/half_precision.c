/* Arithmetic on 16-bit numbers, alone or in pairs (PTX ISA 9.2, section 9.7.4, "Half Precision Floating Point
 * Instructions"). */
#include "values.h"

typedef float (*ValueOf)(uint16_t bits);
typedef uint16_t (*BitsOf)(float value);
typedef float (*Unary)(float value);

/* ------------------------------------------------------------------ powers of two */

static uint16_t power(ValueOf value_of, BitsOf bits_of, uint16_t exponent) {
    return bits_of(exp2f(value_of(exponent)));
}

static Pair powers(ValueOf value_of, BitsOf bits_of, Pair exponent) {
    return (Pair){{power(value_of, bits_of, exponent.element[0]), power(value_of, bits_of, exponent.element[1])}};
}

/* `.ftz` is how bfloat16's instruction is spelled. */
static float flushed_bfloat16(uint16_t bits) { return flushed(float_of_bfloat16(bits)); }
static uint16_t bfloat16_of_flushed(float value) { return bfloat16_of_float(flushed(value)); }

LANE_MODEL(nvvm_ex2_approx_f16) { RESULT(uint16_t) = power(float_of_half, half_of_float, ARGUMENT(0, uint16_t)); }
LANE_MODEL(nvvm_ex2_approx_f16x2) { RESULT(Pair) = powers(float_of_half, half_of_float, ARGUMENT(0, Pair)); }
LANE_MODEL(nvvm_ex2_approx_ftz_bf16) {
    RESULT(uint16_t) = power(flushed_bfloat16, bfloat16_of_flushed, ARGUMENT(0, uint16_t));
}
LANE_MODEL(nvvm_ex2_approx_ftz_bf16x2) {
    RESULT(Pair) = powers(flushed_bfloat16, bfloat16_of_flushed, ARGUMENT(0, Pair));
}

/* ------------------------------------------------------------------ fused multiply-add, rounded once */

/* A sum rounded to odd: cut off, with the last bit set if anything was lost.  Rounding that again to a much
 * shorter type gives what rounding the exact sum would. */
static double sum_to_odd(double a, double b) {
    double sum = a + b;
    if (!isfinite(sum)) return sum;
    double b_taken = sum - a;
    double lost = (a - (sum - b_taken)) + (b - b_taken);   /* exact: Knuth's two-sum */
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (lost != 0.0 && !(bits & 1)) sum = nextafter(sum, lost > 0.0 ? INFINITY : -INFINITY);
    return sum;
}

static float float_to_odd(double value) {
    float rounded = (float)value;
    if (isnan(value) || (double)rounded == value) return rounded;
    uint32_t bits = bits_of_float(rounded);
    if (fabs((double)rounded) > fabs(value)) bits -= 1;   /* the next magnitude below */
    return float_of_bits(bits | 1);
}

/* The product of two 16-bit numbers is exact in a double. */
static float fma_to_odd(float a, float b, float c) {
    return float_to_odd(sum_to_odd((double)a * (double)b, (double)c));
}

static float unchanged(float value) { return value; }

static uint16_t fma_16(ValueOf value_of, BitsOf bits_of, Unary after, uint16_t a, uint16_t b, uint16_t c) {
    return bits_of(after(fma_to_odd(value_of(a), value_of(b), value_of(c))));
}

static Pair fma_pair(ValueOf value_of, BitsOf bits_of, Unary after, Pair a, Pair b, Pair c) {
    return (Pair){{
        fma_16(value_of, bits_of, after, a.element[0], b.element[0], c.element[0]),
        fma_16(value_of, bits_of, after, a.element[1], b.element[1], c.element[1]),
    }};
}

static void fma_half(Unary after, const char *arguments, char *result) {
    RESULT(uint16_t) = fma_16(float_of_half, half_of_float, after, ARGUMENT(0, uint16_t), ARGUMENT(1, uint16_t),
                              ARGUMENT(2, uint16_t));
}
static void fma_halves(Unary after, const char *arguments, char *result) {
    RESULT(Pair) =
        fma_pair(float_of_half, half_of_float, after, ARGUMENT(0, Pair), ARGUMENT(1, Pair), ARGUMENT(2, Pair));
}
static void fma_bfloat16(Unary after, const char *arguments, char *result) {
    RESULT(uint16_t) = fma_16(float_of_bfloat16, bfloat16_of_float, after, ARGUMENT(0, uint16_t),
                              ARGUMENT(1, uint16_t), ARGUMENT(2, uint16_t));
}
static void fma_bfloat16s(Unary after, const char *arguments, char *result) {
    RESULT(Pair) = fma_pair(float_of_bfloat16, bfloat16_of_float, after, ARGUMENT(0, Pair), ARGUMENT(1, Pair),
                            ARGUMENT(2, Pair));
}

LANE_MODEL(nvvm_fma_rn_f16) { fma_half(unchanged, arguments, result); }
LANE_MODEL(nvvm_fma_rn_relu_f16) { fma_half(rectified, arguments, result); }
LANE_MODEL(nvvm_fma_rn_f16x2) { fma_halves(unchanged, arguments, result); }
LANE_MODEL(nvvm_fma_rn_relu_f16x2) { fma_halves(rectified, arguments, result); }
LANE_MODEL(nvvm_fma_rn_bf16) { fma_bfloat16(unchanged, arguments, result); }
LANE_MODEL(nvvm_fma_rn_relu_bf16) { fma_bfloat16(rectified, arguments, result); }
LANE_MODEL(nvvm_fma_rn_bf16x2) { fma_bfloat16s(unchanged, arguments, result); }
LANE_MODEL(nvvm_fma_rn_relu_bf16x2) { fma_bfloat16s(rectified, arguments, result); }
