/* shfl.sync (PTX ISA 9.2, section 9.7.9): lanes read registers of one another.
 *
 * Arguments: member mask, value, b (a lane or an offset), c (bits 0 to 4 clamp, bits 8 to 12 the mask that splits
 * the warp into segments).
 */
#include "warp.h"

typedef enum ShuffleMode { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BUTTERFLY, SHUFFLE_INDEX } ShuffleMode;

typedef struct Source {
    int lane;
    int is_in_range;   /* the predicate that the instruction can also give */
} Source;

/* The lane that a lane reads from; its own if the one asked for is out of range. */
static Source source_of(ShuffleMode mode, int lane, uint32_t b, uint32_t c) {
    int offset = b & 31;
    int segment = c >> 8 & 31;
    int least = lane & segment;
    int limit = least | (int)(c & 31 & ~segment);
    int source;
    int is_in_range;
    switch (mode) {
    case SHUFFLE_UP:
        source = lane - offset;
        is_in_range = source >= limit;
        break;
    case SHUFFLE_DOWN:
        source = lane + offset;
        is_in_range = source <= limit;
        break;
    case SHUFFLE_BUTTERFLY:
        source = lane ^ offset;
        is_in_range = source <= limit;
        break;
    default:
        source = least | (offset & ~segment);
        is_in_range = source <= limit;
        break;
    }
    return (Source){is_in_range ? source : lane, is_in_range};
}

/* One value per lane, with the predicate behind it if `with_predicate`, `{i32, i1}`. */
static void shuffle(Warp *warp, ShuffleMode mode, int with_predicate) {
    check_member_masks(warp, 0, "shfl.sync");
    EACH_ACTIVE_LANE(lane) {
        Source source = source_of(mode, lane, LANE_ARGUMENT(lane, 2, uint32_t), LANE_ARGUMENT(lane, 3, uint32_t));
        uint32_t value = POISON;
        if (members(warp, lane, 0) >> source.lane & 1)
            value = LANE_ARGUMENT(source.lane, 1, uint32_t);
        else
            report(FINDING_INACTIVE_SOURCE, warp->lanes[lane],
                   "shfl.sync: lane %d reads lane %d, which takes no part", lane, source.lane);
        LANE_RESULT(lane, uint32_t) = value;
        if (with_predicate) warp->lanes[lane]->result[sizeof value] = (char)source.is_in_range;
    }
}

COLLECTIVE_MODEL(nvvm_shfl_sync_up) { shuffle(warp, SHUFFLE_UP, 0); }
COLLECTIVE_MODEL(nvvm_shfl_sync_down) { shuffle(warp, SHUFFLE_DOWN, 0); }
COLLECTIVE_MODEL(nvvm_shfl_sync_bfly) { shuffle(warp, SHUFFLE_BUTTERFLY, 0); }
COLLECTIVE_MODEL(nvvm_shfl_sync_idx) { shuffle(warp, SHUFFLE_INDEX, 0); }

COLLECTIVE_MODEL(nvvm_shfl_sync_up_p) { shuffle(warp, SHUFFLE_UP, 1); }
COLLECTIVE_MODEL(nvvm_shfl_sync_down_p) { shuffle(warp, SHUFFLE_DOWN, 1); }
COLLECTIVE_MODEL(nvvm_shfl_sync_bfly_p) { shuffle(warp, SHUFFLE_BUTTERFLY, 1); }
COLLECTIVE_MODEL(nvvm_shfl_sync_idx_p) { shuffle(warp, SHUFFLE_INDEX, 1); }
