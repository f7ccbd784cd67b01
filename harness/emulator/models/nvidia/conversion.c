/* Conversions and the permutation of bytes (PTX ISA 9.2, section 9.7.9, cvt and prmt). */
#include "values.h"

/* ------------------------------------------------------------------ float to a 16-bit type */

/* `.rz`: what rounding to nearest gave, one magnitude lower if that was too large. */
static uint16_t half_toward_zero(float value) {
    uint16_t nearest = half_of_float(value);
    return fabsf(float_of_half(nearest)) > fabsf(value) ? (uint16_t)(nearest - 1) : nearest;
}

static uint16_t bfloat16_toward_zero(float value) {
    return isnan(value) ? bfloat16_of_float(value) : (uint16_t)(bits_of_float(value) >> 16);
}

LANE_MODEL(nvvm_f2f16_rn) { RESULT(uint16_t) = half_of_float(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2f16_rn_relu) { RESULT(uint16_t) = half_of_float(rectified(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2f16_rz) { RESULT(uint16_t) = half_toward_zero(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2f16_rz_relu) { RESULT(uint16_t) = half_toward_zero(rectified(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2h_rn_ftz) { RESULT(uint16_t) = half_of_float(flushed(ARGUMENT(0, float))); }

LANE_MODEL(nvvm_f2bf16_rn) { RESULT(uint16_t) = bfloat16_of_float(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2bf16_rn_relu) { RESULT(uint16_t) = bfloat16_of_float(rectified(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2bf16_rz) { RESULT(uint16_t) = bfloat16_toward_zero(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2bf16_rz_relu) { RESULT(uint16_t) = bfloat16_toward_zero(rectified(ARGUMENT(0, float))); }

/* ------------------------------------------------------------------ two floats to a pair */

typedef uint16_t (*BitsOf)(float value);

/* The first operand goes to the upper half. */
static Pair pair_of(BitsOf bits_of, float upper, float lower) { return (Pair){{bits_of(lower), bits_of(upper)}}; }

LANE_MODEL(nvvm_ff2f16x2_rn) {
    RESULT(Pair) = pair_of(half_of_float, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_ff2f16x2_rn_relu) {
    RESULT(Pair) = pair_of(half_of_float, rectified(ARGUMENT(0, float)), rectified(ARGUMENT(1, float)));
}
LANE_MODEL(nvvm_ff2f16x2_rz) {
    RESULT(Pair) = pair_of(half_toward_zero, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_ff2f16x2_rz_relu) {
    RESULT(Pair) = pair_of(half_toward_zero, rectified(ARGUMENT(0, float)), rectified(ARGUMENT(1, float)));
}
LANE_MODEL(nvvm_ff2bf16x2_rn) {
    RESULT(Pair) = pair_of(bfloat16_of_float, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_ff2bf16x2_rn_relu) {
    RESULT(Pair) = pair_of(bfloat16_of_float, rectified(ARGUMENT(0, float)), rectified(ARGUMENT(1, float)));
}
LANE_MODEL(nvvm_ff2bf16x2_rz) {
    RESULT(Pair) = pair_of(bfloat16_toward_zero, ARGUMENT(0, float), ARGUMENT(1, float));
}
LANE_MODEL(nvvm_ff2bf16x2_rz_relu) {
    RESULT(Pair) = pair_of(bfloat16_toward_zero, rectified(ARGUMENT(0, float)), rectified(ARGUMENT(1, float)));
}

/* ------------------------------------------------------------------ float to tf32 */

#define TF32_UNUSED 0x1FFFu   /* tf32 keeps 10 of a float's 23 bits of mantissa */

/* `correction` is added before the unused bits are cut off; a carry into the exponent is right, and gives
 * infinity past the largest number. */
static uint32_t tf32_of(float value, uint32_t correction) {
    if (isnan(value)) return CANONICAL_NAN;
    if (isinf(value)) return bits_of_float(value);
    return (bits_of_float(value) + correction) & ~TF32_UNUSED;
}

static uint32_t tf32_nearest_even(float value) {
    uint32_t last = bits_of_float(value) >> 13 & 1;
    return tf32_of(value, 0xFFF + last);
}
static uint32_t tf32_nearest_away(float value) { return tf32_of(value, 0x1000); }
static uint32_t tf32_toward_zero(float value) { return tf32_of(value, 0); }

LANE_MODEL(nvvm_f2tf32_rna) { RESULT(uint32_t) = tf32_nearest_away(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2tf32_rn) { RESULT(uint32_t) = tf32_nearest_even(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2tf32_rn_relu) { RESULT(uint32_t) = tf32_nearest_even(rectified(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2tf32_rz) { RESULT(uint32_t) = tf32_toward_zero(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_f2tf32_rz_relu) { RESULT(uint32_t) = tf32_toward_zero(rectified(ARGUMENT(0, float))); }

/* ------------------------------------------------------------------ float to and from integers */

/* Out of range is limited to the range, NaN becomes 0. */
static int32_t limited_signed(float whole) {
    if (isnan(whole)) return 0;
    if (whole >= 0x1p31f) return INT32_MAX;
    return whole <= -0x1p31f ? INT32_MIN : (int32_t)whole;
}

static uint32_t limited_unsigned(float whole) {
    if (!(whole > 0.0f)) return 0;
    return whole >= 0x1p32f ? UINT32_MAX : (uint32_t)whole;
}

LANE_MODEL(nvvm_f2i_rn) { RESULT(int32_t) = limited_signed(rintf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2i_rz) { RESULT(int32_t) = limited_signed(truncf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2i_rm) { RESULT(int32_t) = limited_signed(floorf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2i_rp) { RESULT(int32_t) = limited_signed(ceilf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2i_rm_ftz) { RESULT(int32_t) = limited_signed(floorf(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(nvvm_f2i_rp_ftz) { RESULT(int32_t) = limited_signed(ceilf(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(nvvm_f2ui_rn) { RESULT(uint32_t) = limited_unsigned(rintf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2ui_rz) { RESULT(uint32_t) = limited_unsigned(truncf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2ui_rm) { RESULT(uint32_t) = limited_unsigned(floorf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2ui_rp) { RESULT(uint32_t) = limited_unsigned(ceilf(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_f2ui_rp_ftz) { RESULT(uint32_t) = limited_unsigned(ceilf(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(nvvm_i2f_rn) { RESULT(float) = (float)ARGUMENT(0, int32_t); }
LANE_MODEL(nvvm_ui2f_rn) { RESULT(float) = (float)ARGUMENT(0, uint32_t); }

/* ------------------------------------------------------------------ bytes of two registers */

/* Bytes 0 to 3 are those of `a`, 4 to 7 those of `b`.  Each hexadecimal digit of the selector, the lowest for the
 * lowest byte of the result, is the number of a byte; with its top bit set, of a byte whose sign is spread. */
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit = selector >> (4 * i) & 0xF;
        uint32_t byte = (uint32_t)(bytes >> (8 * (digit & 7))) & 0xFF;
        if (digit & 8) byte = byte & 0x80 ? 0xFF : 0;
        value |= byte << (8 * i);
    }
    return value;
}

/* The named modes: the selectors for the values 0 to 3 of the control operand. */
static const uint32_t FORWARD_4[4] = {0x3210, 0x4321, 0x5432, 0x6543};
static const uint32_t BACKWARD_4[4] = {0x5670, 0x6701, 0x7012, 0x0123};
static const uint32_t REPLICATE_8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
static const uint32_t CLAMP_LEFT[4] = {0x3210, 0x3211, 0x3222, 0x3333};
static const uint32_t CLAMP_RIGHT[4] = {0x0000, 0x1110, 0x2210, 0x3210};
static const uint32_t REPLICATE_16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

static uint32_t permuted_pair(const uint32_t selectors[4], const char *arguments) {
    return permuted(ARGUMENT(0, uint32_t), ARGUMENT(1, uint32_t), selectors[ARGUMENT(2, uint32_t) & 3]);
}
static uint32_t permuted_alone(const uint32_t selectors[4], const char *arguments) {
    return permuted(ARGUMENT(0, uint32_t), 0, selectors[ARGUMENT(1, uint32_t) & 3]);
}

LANE_MODEL(nvvm_prmt) {
    RESULT(uint32_t) = permuted(ARGUMENT(0, uint32_t), ARGUMENT(1, uint32_t), ARGUMENT(2, uint32_t));
}
LANE_MODEL(nvvm_prmt_f4e) { RESULT(uint32_t) = permuted_pair(FORWARD_4, arguments); }
LANE_MODEL(nvvm_prmt_b4e) { RESULT(uint32_t) = permuted_pair(BACKWARD_4, arguments); }
LANE_MODEL(nvvm_prmt_rc8) { RESULT(uint32_t) = permuted_alone(REPLICATE_8, arguments); }
LANE_MODEL(nvvm_prmt_ecl) { RESULT(uint32_t) = permuted_alone(CLAMP_LEFT, arguments); }
LANE_MODEL(nvvm_prmt_ecr) { RESULT(uint32_t) = permuted_alone(CLAMP_RIGHT, arguments); }
LANE_MODEL(nvvm_prmt_rc16) { RESULT(uint32_t) = permuted_alone(REPLICATE_16, arguments); }
