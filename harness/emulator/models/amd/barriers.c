/* Barriers of the workgroup.
 *
 * Sources: RDNA4 ISA, S_BARRIER_SIGNAL and S_BARRIER_WAIT (barrier −1 is the workgroup's own); LLVM,
 * "User Guide for AMDGPU Backend". */
#include "emulator.h"

#define WORKGROUP_BARRIER 0
#define WORKGROUP_OPERAND (-1)
#define ALL_LANES 0

static int is_workgroup(const Lane *lane, int operand) {
    if (operand == WORKGROUP_OPERAND) return 1;
    report(FINDING_UNSUPPORTED_OPERAND, lane, "barrier %d", operand);
    return 0;
}

LANE_MODEL(amdgcn_s_barrier) { barrier_wait(lane, WORKGROUP_BARRIER, ALL_LANES); }

LANE_MODEL(amdgcn_s_barrier_signal) {
    if (is_workgroup(lane, ARGUMENT(0, int32_t))) barrier_arrive(lane, WORKGROUP_BARRIER, ALL_LANES);
}

LANE_MODEL(amdgcn_s_barrier_wait) {
    if (is_workgroup(lane, ARGUMENT(0, int16_t))) barrier_wait_arrived(lane, WORKGROUP_BARRIER);
}
