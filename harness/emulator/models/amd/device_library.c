/* Functions of AMD's device library that MLIR's ROCm lowering calls instead of intrinsics. */
#include <math.h>

#include "emulator.h"

LANE_MODEL(amdgcn_ocml_exp_f32) { RESULT(float) = expf(ARGUMENT(0, float)); }
LANE_MODEL(amdgcn_ocml_exp2_f32) { RESULT(float) = exp2f(ARGUMENT(0, float)); }
LANE_MODEL(amdgcn_ocml_log_f32) { RESULT(float) = logf(ARGUMENT(0, float)); }
LANE_MODEL(amdgcn_ocml_log2_f32) { RESULT(float) = log2f(ARGUMENT(0, float)); }
LANE_MODEL(amdgcn_ocml_tanh_f32) { RESULT(float) = tanhf(ARGUMENT(0, float)); }
LANE_MODEL(amdgcn_ocml_rsqrt_f32) { RESULT(float) = (float)(1 / sqrt((double)ARGUMENT(0, float))); }

/* Sizes in one dimension. */
static uint64_t size_of(const Lane *lane, const uint32_t *sizes, uint32_t dimension) {
    if (dimension < 3) return sizes[dimension];
    report(FINDING_UNSUPPORTED_OPERAND, lane, "dimension %u", dimension);
    return 1;
}

LANE_MODEL(amdgcn_ockl_get_local_size) {
    RESULT(uint64_t) = size_of(lane, launch.block, ARGUMENT(0, uint32_t));
}

LANE_MODEL(amdgcn_ockl_get_num_groups) {
    RESULT(uint64_t) = size_of(lane, launch.grid, ARGUMENT(0, uint32_t));
}
