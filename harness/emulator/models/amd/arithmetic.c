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

/* ------------------------------------------------------------------ V_PERM_B32: bytes of two registers */

/* Bytes 0 to 3 are those of the second register, 4 to 7 those of the first.  Each byte of the selector is the number
 * of a byte, or from 8 on of a half whose sign is spread, of 12 a byte of zeros and beyond of ones. */
LANE_MODEL(amdgcn_perm) {
    uint64_t bytes = (uint64_t)ARGUMENT(0, uint32_t) << 32 | ARGUMENT(1, uint32_t);
    uint32_t selector = ARGUMENT(2, uint32_t), value = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t number = selector >> (8 * i) & 0xFF, byte = number == 12 ? 0 : 0xFF;
        if (number < 8) byte = (uint32_t)(bytes >> (8 * number)) & 0xFF;
        else if (number < 12) byte = bytes >> (16 * (number - 8) + 15) & 1 ? 0xFF : 0;
        value |= byte << (8 * i);
    }
    RESULT(uint32_t) = value;
}
