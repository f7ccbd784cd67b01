/* Minimum and maximum (PTX ISA 9.2, min and max in sections 9.7.3 and, for 16-bit types, 9.7.4).
 *
 * One NaN loses against a number unless `.NaN` is asked for; +0 is larger than -0; NaN results are canonical.
 */
#include "values.h"

/* ------------------------------------------------------------------ single precision */

static float larger(float a, float b) {
    if (isnan(a) && isnan(b)) return float_of_bits(CANONICAL_NAN);
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static float smaller(float a, float b) {
    if (isnan(a) && isnan(b)) return float_of_bits(CANONICAL_NAN);
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static float larger_or_nan(float a, float b) {
    return isnan(a) || isnan(b) ? float_of_bits(CANONICAL_NAN) : larger(a, b);
}

static float smaller_or_nan(float a, float b) {
    return isnan(a) || isnan(b) ? float_of_bits(CANONICAL_NAN) : smaller(a, b);
}

/* `.xorsign.abs`: the extreme of the magnitudes, with the exclusive or of the operands' signs. */
static float with_both_signs(float extreme, float a, float b) {
    return isnan(extreme) ? extreme : copysignf(extreme, signbit(a) != signbit(b) ? -1.0f : 1.0f);
}

typedef float (*Extreme)(float a, float b);

static float flushed_extreme(Extreme extreme, const char *arguments) {
    return flushed(extreme(flushed(ARGUMENT(0, float)), flushed(ARGUMENT(1, float))));
}

static float extreme_of_magnitudes(Extreme extreme, float a, float b) {
    return with_both_signs(extreme(fabsf(a), fabsf(b)), a, b);
}

LANE_MODEL(nvvm_fmax_f) { RESULT(float) = larger(ARGUMENT(0, float), ARGUMENT(1, float)); }
LANE_MODEL(nvvm_fmax_nan_f) { RESULT(float) = larger_or_nan(ARGUMENT(0, float), ARGUMENT(1, float)); }
LANE_MODEL(nvvm_fmax_ftz_f) { RESULT(float) = flushed_extreme(larger, arguments); }
LANE_MODEL(nvvm_fmax_ftz_nan_f) { RESULT(float) = flushed_extreme(larger_or_nan, arguments); }
LANE_MODEL(nvvm_fmin_f) { RESULT(float) = smaller(ARGUMENT(0, float), ARGUMENT(1, float)); }
LANE_MODEL(nvvm_fmin_nan_f) { RESULT(float) = smaller_or_nan(ARGUMENT(0, float), ARGUMENT(1, float)); }
LANE_MODEL(nvvm_fmin_ftz_f) { RESULT(float) = flushed_extreme(smaller, arguments); }
LANE_MODEL(nvvm_fmin_ftz_nan_f) { RESULT(float) = flushed_extreme(smaller_or_nan, arguments); }

LANE_MODEL(nvvm_fmax_xorsign_abs_f) {
    RESULT(float) = extreme_of_magnitudes(larger, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_fmax_nan_xorsign_abs_f) {
    RESULT(float) = extreme_of_magnitudes(larger_or_nan, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_fmin_xorsign_abs_f) {
    RESULT(float) = extreme_of_magnitudes(smaller, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_fmin_nan_xorsign_abs_f) {
    RESULT(float) = extreme_of_magnitudes(smaller_or_nan, ARGUMENT(0, float), ARGUMENT(1, float));
}

/* ------------------------------------------------------------------ 16-bit types, one number or two */

typedef float (*ValueOf)(uint16_t bits);

/* The winner's own bits: both types order as the floats that they convert to. */
static uint16_t extreme_16(Extreme extreme, ValueOf value_of, uint16_t a, uint16_t b) {
    float winner = extreme(value_of(a), value_of(b));
    if (isnan(winner)) return CANONICAL_NAN_16;
    return bits_of_float(winner) == bits_of_float(value_of(a)) ? a : b;
}

static Pair extreme_pair(Extreme extreme, ValueOf value_of, Pair a, Pair b) {
    return (Pair){{
        extreme_16(extreme, value_of, a.element[0], b.element[0]),
        extreme_16(extreme, value_of, a.element[1], b.element[1]),
    }};
}

static void extreme_half(Extreme extreme, const char *arguments, char *result) {
    RESULT(uint16_t) = extreme_16(extreme, float_of_half, ARGUMENT(0, uint16_t), ARGUMENT(1, uint16_t));
}
static void extreme_halves(Extreme extreme, const char *arguments, char *result) {
    RESULT(Pair) = extreme_pair(extreme, float_of_half, ARGUMENT(0, Pair), ARGUMENT(1, Pair));
}
static void extreme_bfloat16(Extreme extreme, const char *arguments, char *result) {
    RESULT(uint16_t) = extreme_16(extreme, float_of_bfloat16, ARGUMENT(0, uint16_t), ARGUMENT(1, uint16_t));
}
static void extreme_bfloat16s(Extreme extreme, const char *arguments, char *result) {
    RESULT(Pair) = extreme_pair(extreme, float_of_bfloat16, ARGUMENT(0, Pair), ARGUMENT(1, Pair));
}

LANE_MODEL(nvvm_fmax_f16) { extreme_half(larger, arguments, result); }
LANE_MODEL(nvvm_fmax_nan_f16) { extreme_half(larger_or_nan, arguments, result); }
LANE_MODEL(nvvm_fmin_f16) { extreme_half(smaller, arguments, result); }
LANE_MODEL(nvvm_fmin_nan_f16) { extreme_half(smaller_or_nan, arguments, result); }

LANE_MODEL(nvvm_fmax_f16x2) { extreme_halves(larger, arguments, result); }
LANE_MODEL(nvvm_fmax_nan_f16x2) { extreme_halves(larger_or_nan, arguments, result); }
LANE_MODEL(nvvm_fmin_f16x2) { extreme_halves(smaller, arguments, result); }
LANE_MODEL(nvvm_fmin_nan_f16x2) { extreme_halves(smaller_or_nan, arguments, result); }

LANE_MODEL(nvvm_fmax_bf16) { extreme_bfloat16(larger, arguments, result); }
LANE_MODEL(nvvm_fmax_nan_bf16) { extreme_bfloat16(larger_or_nan, arguments, result); }
LANE_MODEL(nvvm_fmin_bf16) { extreme_bfloat16(smaller, arguments, result); }
LANE_MODEL(nvvm_fmin_nan_bf16) { extreme_bfloat16(smaller_or_nan, arguments, result); }

LANE_MODEL(nvvm_fmax_bf16x2) { extreme_bfloat16s(larger, arguments, result); }
LANE_MODEL(nvvm_fmax_nan_bf16x2) { extreme_bfloat16s(larger_or_nan, arguments, result); }
LANE_MODEL(nvvm_fmin_bf16x2) { extreme_bfloat16s(smaller, arguments, result); }
LANE_MODEL(nvvm_fmin_nan_bf16x2) { extreme_bfloat16s(smaller_or_nan, arguments, result); }
