/* Values from other lanes.  Source: cl_khr_subgroup_shuffle.
 *
 * The last argument, from the registry, is the size of a value in bytes.  Results that the specifications leave
 * undefined are poisoned: reading one need not be a mistake, since a kernel may drop it.
 */
#include "sub_group.h"

/* Give a lane the argument of another, which must take part. */
static void take(Warp *warp, int lane, int64_t source, size_t bytes) {
    if (source >= 0 && source < warp->count && warp->active >> source & 1) {
        memcpy(&LANE_RESULT(lane, char), &LANE_ARGUMENT(source, 0, char), bytes);
        return;
    }
    poison(&LANE_RESULT(lane, char), bytes);
    report(FINDING_INACTIVE_SOURCE, warp->lanes[lane], "lane %d reads from lane %lld", lane, (long long)source);
}

/* value, index, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle) {
    EACH_ACTIVE_LANE(lane)
        take(warp, lane, LANE_ARGUMENT(lane, 1, uint32_t), LANE_ARGUMENT(lane, 2, uint32_t));
}

/* value, mask, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle_xor) {
    EACH_ACTIVE_LANE(lane)
        take(warp, lane, (uint32_t)lane ^ LANE_ARGUMENT(lane, 1, uint32_t), LANE_ARGUMENT(lane, 2, uint32_t));
}
