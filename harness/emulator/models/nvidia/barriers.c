/* Barriers of a workgroup (PTX ISA 9.2, section 9.7.13, barrier.cta) and of a warp (bar.warp.sync).
 *
 * A workgroup has 16 barriers; the number of lanes that take part is a multiple of the warp's size.
 */
#include "warp.h"

#define BARRIERS 16

static int is_barrier(const Lane *lane, int32_t barrier) {
    if (barrier >= 0 && barrier < BARRIERS) return 1;
    report(FINDING_UNSUPPORTED_OPERAND, lane, "barrier %d, of %d", barrier, BARRIERS);
    return 0;
}

static int is_barrier_of(const Lane *lane, int32_t barrier, int32_t threads) {
    if (!is_barrier(lane, barrier)) return 0;
    if (threads > 0 && threads % WARP_LANES == 0) return 1;
    report(FINDING_UNSUPPORTED_OPERAND, lane, "barrier of %d threads, which are not whole warps", threads);
    return 0;
}

LANE_MODEL(nvvm_barrier0) { barrier_wait(lane, 0, 0); }

LANE_MODEL(nvvm_barrier_cta_sync_all) {
    if (is_barrier(lane, ARGUMENT(0, int32_t))) barrier_wait(lane, ARGUMENT(0, int32_t), 0);
}

LANE_MODEL(nvvm_barrier_cta_sync_count) {
    if (is_barrier_of(lane, ARGUMENT(0, int32_t), ARGUMENT(1, int32_t)))
        barrier_wait(lane, ARGUMENT(0, int32_t), ARGUMENT(1, int32_t));
}

LANE_MODEL(nvvm_barrier_cta_arrive_count) {
    if (is_barrier_of(lane, ARGUMENT(0, int32_t), ARGUMENT(1, int32_t)))
        barrier_arrive(lane, ARGUMENT(0, int32_t), ARGUMENT(1, int32_t));
}

/* The lanes of the mask have met when the model is called; their accesses are in program order. */
COLLECTIVE_MODEL(nvvm_bar_warp_sync) { check_member_masks(warp, 0, "bar.warp.sync"); }
