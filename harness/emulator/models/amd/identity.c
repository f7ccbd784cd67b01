/* Which lane, workgroup and launch this is.  Source: LLVM, "User Guide for AMDGPU Backend". */
#include "emulator.h"

static uint32_t workitem(const Lane *lane, int dimension) {
    uint32_t thread = (uint32_t)lane->thread;
    if (dimension == 0) return thread % launch.block[0];
    if (dimension == 1) return thread / launch.block[0] % launch.block[1];
    return thread / (launch.block[0] * launch.block[1]);
}

LANE_MODEL(amdgcn_workitem_id_x) { RESULT(uint32_t) = workitem(lane, 0); }
LANE_MODEL(amdgcn_workitem_id_y) { RESULT(uint32_t) = workitem(lane, 1); }
LANE_MODEL(amdgcn_workitem_id_z) { RESULT(uint32_t) = workitem(lane, 2); }

LANE_MODEL(amdgcn_workgroup_id_x) { RESULT(uint32_t) = launch.workgroup[0]; }
LANE_MODEL(amdgcn_workgroup_id_y) { RESULT(uint32_t) = launch.workgroup[1]; }
LANE_MODEL(amdgcn_workgroup_id_z) { RESULT(uint32_t) = launch.workgroup[2]; }

LANE_MODEL(amdgcn_wavefrontsize) { RESULT(uint32_t) = (uint32_t)lane->warp->size; }

/* The hidden kernel arguments; see "Code Object V5 Kernel Argument Metadata Map" for what lies where. */
LANE_MODEL(amdgcn_implicitarg_ptr) { RESULT(const char *) = launch.implicit_arguments; }

/* mbcnt counts the bits of a mask that stand for lanes below this one, in the lower or upper half of the
 * wave. Source: AMD Instinct MI300 ISA, V_MBCNT_LO_U32_B32 and V_MBCNT_HI_U32_B32. */
static uint64_t lanes_below(const Lane *lane) { return ((uint64_t)1 << lane->index) - 1; }

LANE_MODEL(amdgcn_mbcnt_lo) {
    uint32_t counted = ARGUMENT(0, uint32_t) & (uint32_t)lanes_below(lane);
    RESULT(uint32_t) = ARGUMENT(1, uint32_t) + (uint32_t)__builtin_popcount(counted);
}

LANE_MODEL(amdgcn_mbcnt_hi) {
    uint32_t counted = ARGUMENT(0, uint32_t) & (uint32_t)(lanes_below(lane) >> 32);
    RESULT(uint32_t) = ARGUMENT(1, uint32_t) + (uint32_t)__builtin_popcount(counted);
}

LANE_MODEL(amdgcn_wave_id) { RESULT(uint32_t) = (uint32_t)(lane->thread / lane->warp->size); }
