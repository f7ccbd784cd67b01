/* What the models that need a whole sub-group share. */
#ifndef HARNESS_EMULATOR_INTEL_SUB_GROUP_H
#define HARNESS_EMULATOR_INTEL_SUB_GROUP_H

#include "emulator.h"

/* The sub-group size of the matrix and block instructions of PVC and Xe2: cl_intel_subgroup_2d_block_io and
 * cl_intel_subgroup_matrix_multiply_accumulate leave every other size undefined on these devices. */
enum { MATRIX_LANES = 16 };

/* The lowest lane that takes part: the one that findings are reported of. */
static inline const Lane *first_lane(const Warp *warp) {
    return warp->lanes[__builtin_ctzll(warp->active)];
}

/* Report a call that some lanes of the sub-group do not make. */
static inline void require_all_lanes(const Warp *warp, const char *what) {
    uint64_t all = ~(uint64_t)0 >> (64 - warp->count);
    if (warp->active != all)
        report(FINDING_DIVERGENT_COLLECTIVE, first_lane(warp), "%s by lanes %llx of %llx", what,
               (unsigned long long)warp->active, (unsigned long long)all);
}

/* Whether the sub-group has the size of the matrix instructions.  Report it if not, or if lanes are missing. */
static inline int is_matrix_sub_group(const Warp *warp, const char *what) {
    if (warp->size != MATRIX_LANES) {
        report(FINDING_UNSUPPORTED_OPERAND, first_lane(warp), "%s in a sub-group of %d, not %d", what,
               warp->size, MATRIX_LANES);
        return 0;
    }
    if (warp->count != MATRIX_LANES)
        report(FINDING_DIVERGENT_COLLECTIVE, first_lane(warp), "%s in a sub-group with only %d lanes", what,
               warp->count);
    else
        require_all_lanes(warp, what);
    return 1;
}

/* Report an argument that must be the same for all lanes of the sub-group and is not. */
static inline void require_uniform(const Warp *warp, int position, size_t bytes, const char *what) {
    const char *first = first_lane(warp)->arguments + ARGUMENT_BYTES * position;
    EACH_ACTIVE_LANE(lane) {
        if (memcmp(first, &LANE_ARGUMENT(lane, position, char), bytes) == 0) continue;
        report(FINDING_REPLICATION, warp->lanes[lane], "%s is not the same for all lanes", what);
        return;
    }
}

/* A value that the specification leaves undefined: not a number in every floating-point type. */
static inline void poison(char *value, size_t bytes) {
    memset(value, 0xFF, bytes);
}

#endif
