/* Arithmetic of one lane.
 *
 * Sources: AMD Instinct MI300 ISA and RDNA3 ISA, the VOP1 and VOP3 instructions named below.  The
 * transcendental instructions on floats neither take nor give subnormal numbers; they are accurate to one
 * unit in the last place, and the models to half of one. */
#include <math.h>

#include "emulator.h"

/* ------------------------------------------------------------------ V_EXP, V_LOG, V_RCP, V_RSQ, V_SQRT */

static float flushed(float value) {
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static float reciprocal(float value) { return 1 / value; }
static float reciprocal_root(float value) { return (float)(1 / sqrt((double)value)); }

LANE_MODEL(amdgcn_exp2_f32) { RESULT(float) = flushed(exp2f(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(amdgcn_log_f32) { RESULT(float) = flushed(log2f(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(amdgcn_rcp_f32) { RESULT(float) = flushed(reciprocal(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(amdgcn_rsq_f32) { RESULT(float) = flushed(reciprocal_root(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(amdgcn_sqrt_f32) { RESULT(float) = flushed(sqrtf(flushed(ARGUMENT(0, float)))); }

#define HALF_ARGUMENT(position) float_of_half(ARGUMENT(position, uint16_t))

LANE_MODEL(amdgcn_exp2_f16) { RESULT(uint16_t) = half_of_float(exp2f(HALF_ARGUMENT(0))); }
LANE_MODEL(amdgcn_log_f16) { RESULT(uint16_t) = half_of_float(log2f(HALF_ARGUMENT(0))); }
LANE_MODEL(amdgcn_rcp_f16) { RESULT(uint16_t) = half_of_float(reciprocal(HALF_ARGUMENT(0))); }
LANE_MODEL(amdgcn_rsq_f16) { RESULT(uint16_t) = half_of_float(reciprocal_root(HALF_ARGUMENT(0))); }
LANE_MODEL(amdgcn_sqrt_f16) { RESULT(uint16_t) = half_of_float(sqrtf(HALF_ARGUMENT(0))); }

/* ------------------------------------------------------------------ V_FRACT, V_MED3 */

/* The fraction stays below 1, though x − floor(x) of a small negative number rounds to 1. */
LANE_MODEL(amdgcn_fract_f32) {
    float value = ARGUMENT(0, float);
    RESULT(float) = fminf(value - floorf(value), 0x1.fffffep-1f);
}

LANE_MODEL(amdgcn_fract_f16) {
    float value = HALF_ARGUMENT(0);
    RESULT(uint16_t) = half_of_float(fminf(value - floorf(value), 0x1.ffcp-1f));
}

/* The median of three; the smallest number if one is none. */
static float median(float x, float y, float z) {
    if (isnan(x) || isnan(y) || isnan(z)) return fminf(fminf(x, y), z);
    return fmaxf(fminf(x, y), fminf(fmaxf(x, y), z));
}

LANE_MODEL(amdgcn_fmed3_f32) {
    RESULT(float) = median(ARGUMENT(0, float), ARGUMENT(1, float), ARGUMENT(2, float));
}

LANE_MODEL(amdgcn_fmed3_f16) {
    RESULT(uint16_t) = half_of_float(median(HALF_ARGUMENT(0), HALF_ARGUMENT(1), HALF_ARGUMENT(2)));
}

/* ------------------------------------------------------------------ V_CVT_PKRTZ_F16_F32 */

/* A float as a half, rounded toward zero. */
static uint16_t truncated_half(float value) {
    uint16_t rounded = half_of_float(value);
    int is_farther = fabsf(float_of_half(rounded)) > fabsf(value);
    /* The next half toward zero, from infinity too. */
    return is_farther ? (uint16_t)(rounded - 1) : rounded;
}

LANE_MODEL(amdgcn_cvt_pkrtz) {
    uint32_t low = truncated_half(ARGUMENT(0, float)), high = truncated_half(ARGUMENT(1, float));
    RESULT(uint32_t) = high << 16 | low;
}

/* ------------------------------------------------------------------ V_PERM_B32, V_ALIGNBYTE_B32, V_BFE */

/* The byte of eight that a selector names, or a constant: the sign of an odd byte, all zeros, all ones. */
static uint32_t selected_byte(uint64_t bytes, uint32_t selector) {
    if (selector < 8) return (uint32_t)(bytes >> 8 * selector & 0xFF);
    if (selector < 12) return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xFF : 0;
    return selector == 12 ? 0 : 0xFF;
}

LANE_MODEL(amdgcn_perm) {
    uint64_t bytes = (uint64_t)ARGUMENT(0, uint32_t) << 32 | ARGUMENT(1, uint32_t);
    uint32_t selectors = ARGUMENT(2, uint32_t), permuted = 0;
    for (int i = 0; i < 4; i++) permuted |= selected_byte(bytes, selectors >> 8 * i & 0xFF) << 8 * i;
    RESULT(uint32_t) = permuted;
}

LANE_MODEL(amdgcn_alignbyte) {
    uint64_t bytes = (uint64_t)ARGUMENT(0, uint32_t) << 32 | ARGUMENT(1, uint32_t);
    RESULT(uint32_t) = (uint32_t)(bytes >> 8 * (ARGUMENT(2, uint32_t) & 3));
}

/* (value, offset, width), offset and width modulo 32; the field ends with the value's highest bit at the
 * latest. */
LANE_MODEL(amdgcn_ubfe) {
    uint32_t offset = ARGUMENT(1, uint32_t) & 31, width = ARGUMENT(2, uint32_t) & 31;
    RESULT(uint32_t) = ARGUMENT(0, uint32_t) >> offset & (((uint32_t)1 << width) - 1);
}

LANE_MODEL(amdgcn_sbfe) {
    uint32_t offset = ARGUMENT(1, uint32_t) & 31, width = ARGUMENT(2, uint32_t) & 31;
    uint32_t field = (uint32_t)(ARGUMENT(0, int32_t) >> offset) & (((uint32_t)1 << width) - 1);
    uint32_t sign = width ? (uint32_t)1 << (width - 1) : 0;
    RESULT(uint32_t) = (field ^ sign) - sign;
}
