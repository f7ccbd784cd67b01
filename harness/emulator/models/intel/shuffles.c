/* Values from other lanes.  Sources: cl_khr_subgroup_shuffle, cl_khr_subgroup_shuffle_relative, cl_intel_subgroups
 * (and its _short, _char and _long), cl_khr_subgroups for broadcasts.
 *
 * The last argument, from the registry, is the size of a value in bytes.  Results that the specifications leave
 * undefined are poisoned: reading one need not be a mistake, since a kernel may drop it.
 */
#include "sub_group.h"

/* Give a lane the argument of another, which must take part. */
static void take(Warp *warp, int lane, int64_t source, int position, size_t bytes) {
    if (source >= 0 && source < warp->count && warp->active >> source & 1) {
        memcpy(&LANE_RESULT(lane, char), &LANE_ARGUMENT(source, position, char), bytes);
        return;
    }
    poison(&LANE_RESULT(lane, char), bytes);
    report(FINDING_INACTIVE_SOURCE, warp->lanes[lane], "lane %d reads from lane %lld", lane, (long long)source);
}

/* The same; a lane beyond the ends of the sub-group is no mistake: the first or last lanes of a scan read there. */
static void take_relative(Warp *warp, int lane, int64_t source, int position, size_t bytes) {
    if (source < 0 || source >= warp->count)
        poison(&LANE_RESULT(lane, char), bytes);
    else
        take(warp, lane, source, position, bytes);
}

/* value, index, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle) {
    EACH_ACTIVE_LANE(lane)
        take(warp, lane, LANE_ARGUMENT(lane, 1, uint32_t), 0, LANE_ARGUMENT(lane, 2, uint32_t));
}

/* value, mask, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle_xor) {
    EACH_ACTIVE_LANE(lane)
        take(warp, lane, (uint32_t)lane ^ LANE_ARGUMENT(lane, 1, uint32_t), 0, LANE_ARGUMENT(lane, 2, uint32_t));
}

/* value, delta, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle_up) {
    EACH_ACTIVE_LANE(lane)
        take_relative(warp, lane, (int64_t)lane - LANE_ARGUMENT(lane, 1, uint32_t), 0,
                      LANE_ARGUMENT(lane, 2, uint32_t));
}

/* value, delta, size */
COLLECTIVE_MODEL(opencl_sub_group_shuffle_down) {
    EACH_ACTIVE_LANE(lane)
        take_relative(warp, lane, (int64_t)lane + LANE_ARGUMENT(lane, 1, uint32_t), 0,
                      LANE_ARGUMENT(lane, 2, uint32_t));
}

/* previous, current, delta, size: `previous` continues `current` before the first lane. */
COLLECTIVE_MODEL(intel_sub_group_shuffle_up) {
    EACH_ACTIVE_LANE(lane) {
        int64_t index = (int64_t)lane - LANE_ARGUMENT(lane, 2, uint32_t);
        size_t bytes = LANE_ARGUMENT(lane, 3, uint32_t);
        if (index >= 0) take(warp, lane, index, 1, bytes);
        else take(warp, lane, index + warp->size, 0, bytes);
    }
}

/* current, next, delta, size: `next` continues `current` after the last lane. */
COLLECTIVE_MODEL(intel_sub_group_shuffle_down) {
    EACH_ACTIVE_LANE(lane) {
        int64_t index = (int64_t)lane + LANE_ARGUMENT(lane, 2, uint32_t);
        size_t bytes = LANE_ARGUMENT(lane, 3, uint32_t);
        if (index < warp->size) take(warp, lane, index, 0, bytes);
        else take(warp, lane, index - warp->size, 1, bytes);
    }
}

/* value, lane, size */
COLLECTIVE_MODEL(opencl_sub_group_broadcast) {
    require_all_lanes(warp, "sub_group_broadcast");
    require_uniform(warp, 1, sizeof(uint32_t), "the lane of sub_group_broadcast");
    EACH_ACTIVE_LANE(lane)
        take(warp, lane, LANE_ARGUMENT(lane, 1, uint32_t), 0, LANE_ARGUMENT(lane, 2, uint32_t));
}
