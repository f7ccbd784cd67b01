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
