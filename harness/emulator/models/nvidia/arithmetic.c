/* Arithmetic on single-precision numbers (PTX ISA 9.2, section 9.7.3, "Floating Point Instructions").
 *
 * The approximate instructions are modelled by results that are right to within an ulp or two: closer than the
 * hardware, whose errors the ISA bounds by about 2^-22.
 */
#include "values.h"

/* ------------------------------------------------------------------ add, multiply, fused multiply-add */

LANE_MODEL(nvvm_add_rn_f) { RESULT(float) = ARGUMENT(0, float) + ARGUMENT(1, float); }
LANE_MODEL(nvvm_add_rn_ftz_f) {
    RESULT(float) = flushed(flushed(ARGUMENT(0, float)) + flushed(ARGUMENT(1, float)));
}
LANE_MODEL(nvvm_mul_rn_f) { RESULT(float) = ARGUMENT(0, float) * ARGUMENT(1, float); }
LANE_MODEL(nvvm_mul_rn_ftz_f) {
    RESULT(float) = flushed(flushed(ARGUMENT(0, float)) * flushed(ARGUMENT(1, float)));
}

LANE_MODEL(nvvm_fma_rn_f) {
    RESULT(float) = fmaf(ARGUMENT(0, float), ARGUMENT(1, float), ARGUMENT(2, float));
}

static float fma_flushed(const char *arguments) {
    float a = flushed(ARGUMENT(0, float)), b = flushed(ARGUMENT(1, float)), c = flushed(ARGUMENT(2, float));
    return flushed(fmaf(a, b, c));
}

LANE_MODEL(nvvm_fma_rn_ftz_f) { RESULT(float) = fma_flushed(arguments); }
LANE_MODEL(nvvm_fma_rn_sat_f) {
    RESULT(float) = saturated(fmaf(ARGUMENT(0, float), ARGUMENT(1, float), ARGUMENT(2, float)));
}
LANE_MODEL(nvvm_fma_rn_ftz_sat_f) { RESULT(float) = saturated(fma_flushed(arguments)); }

LANE_MODEL(nvvm_saturate_f) { RESULT(float) = saturated(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_saturate_ftz_f) { RESULT(float) = saturated(flushed(ARGUMENT(0, float))); }

/* LLVM after 22: the rounding mode is an operand, numbered as `llvm.set.rounding` does, 1 for to nearest even. */
static void require_nearest(const Lane *lane, int mode) {
    if (mode != 1) report(FINDING_UNSUPPORTED_OPERAND, lane, "rounding mode %d", mode);
}

LANE_MODEL(nvvm_fadd_f32) {
    require_nearest(lane, ARGUMENT(2, int32_t));
    nvvm_add_rn_f(lane, arguments, result);
}
LANE_MODEL(nvvm_fadd_ftz_f32) {
    require_nearest(lane, ARGUMENT(2, int32_t));
    nvvm_add_rn_ftz_f(lane, arguments, result);
}
LANE_MODEL(nvvm_fmul_f32) {
    require_nearest(lane, ARGUMENT(2, int32_t));
    nvvm_mul_rn_f(lane, arguments, result);
}
LANE_MODEL(nvvm_fmul_ftz_f32) {
    require_nearest(lane, ARGUMENT(2, int32_t));
    nvvm_mul_rn_ftz_f(lane, arguments, result);
}

/* ------------------------------------------------------------------ powers, logarithms, roots, quotients */

LANE_MODEL(nvvm_ex2_approx_f) { RESULT(float) = exp2f(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_ex2_approx_ftz_f) { RESULT(float) = flushed(exp2f(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(nvvm_lg2_approx_f) { RESULT(float) = log2f(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_lg2_approx_ftz_f) { RESULT(float) = flushed(log2f(flushed(ARGUMENT(0, float)))); }

LANE_MODEL(nvvm_rcp_f) { RESULT(float) = 1.0f / ARGUMENT(0, float); }
LANE_MODEL(nvvm_rcp_ftz_f) { RESULT(float) = flushed(1.0f / flushed(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_div_f) { RESULT(float) = ARGUMENT(0, float) / ARGUMENT(1, float); }
LANE_MODEL(nvvm_div_ftz_f) {
    RESULT(float) = flushed(flushed(ARGUMENT(0, float)) / flushed(ARGUMENT(1, float)));
}

static float reciprocal_root(float value) { return (float)(1.0 / sqrt((double)value)); }

LANE_MODEL(nvvm_sqrt_f) { RESULT(float) = sqrtf(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_sqrt_ftz_f) { RESULT(float) = flushed(sqrtf(flushed(ARGUMENT(0, float)))); }
LANE_MODEL(nvvm_rsqrt_approx_f) { RESULT(float) = reciprocal_root(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_rsqrt_approx_ftz_f) { RESULT(float) = flushed(reciprocal_root(flushed(ARGUMENT(0, float)))); }

/* ------------------------------------------------------------------ to a whole number, as a float */

/* cvt.rmi, cvt.rpi, cvt.rzi, cvt.rni: the intrinsic called `round` takes ties to even (section 9.7.9, cvt). */
LANE_MODEL(nvvm_floor_f) { RESULT(float) = floorf(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_floor_ftz_f) { RESULT(float) = floorf(flushed(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_ceil_f) { RESULT(float) = ceilf(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_ceil_ftz_f) { RESULT(float) = ceilf(flushed(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_trunc_f) { RESULT(float) = truncf(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_trunc_ftz_f) { RESULT(float) = truncf(flushed(ARGUMENT(0, float))); }
LANE_MODEL(nvvm_round_f) { RESULT(float) = rintf(ARGUMENT(0, float)); }
LANE_MODEL(nvvm_round_ftz_f) { RESULT(float) = rintf(flushed(ARGUMENT(0, float))); }
