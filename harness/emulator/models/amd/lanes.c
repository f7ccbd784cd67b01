/* A value of one lane for all.
 *
 * Source: AMD Instinct MI300 ISA and RDNA3 ISA, V_READLANE_B32, V_READFIRSTLANE_B32.  The names end with the bits of
 * a value. */
#include "waves.h"

static void read_first_lane(Warp *warp, size_t bytes) {
    EACH_ACTIVE_LANE(lane) copy_argument(warp, lane, first_active(warp), 0, bytes);
}

COLLECTIVE_MODEL(amdgcn_readfirstlane_b16) { read_first_lane(warp, 2); }
COLLECTIVE_MODEL(amdgcn_readfirstlane_b32) { read_first_lane(warp, 4); }
COLLECTIVE_MODEL(amdgcn_readfirstlane_b64) { read_first_lane(warp, 8); }
COLLECTIVE_MODEL(amdgcn_readfirstlane_b128) { read_first_lane(warp, 16); }

/* The hardware reads the register of an inactive lane too, but what that holds is nobody's intention. */
static void read_lane(Warp *warp, size_t bytes) {
    int source = (int)(uniform_argument(warp, 1) % (uint32_t)warp->size);
    if (!is_active(warp, source))
        report(FINDING_INACTIVE_SOURCE, warp->lanes[first_active(warp)], "reads lane %d, which takes no part",
               source);
    EACH_ACTIVE_LANE(lane) {
        if (is_active(warp, source)) copy_argument(warp, lane, source, 0, bytes);
        else memset(warp->lanes[lane]->result, UNDEFINED_BYTE, bytes);
    }
}

COLLECTIVE_MODEL(amdgcn_readlane_b16) { read_lane(warp, 2); }
COLLECTIVE_MODEL(amdgcn_readlane_b32) { read_lane(warp, 4); }
COLLECTIVE_MODEL(amdgcn_readlane_b64) { read_lane(warp, 8); }
COLLECTIVE_MODEL(amdgcn_readlane_b128) { read_lane(warp, 16); }

/* Every lane gets a bit of each lane that takes part: whether a condition holds there (V_CMP into a scalar). */
static uint64_t ballot(Warp *warp) {
    uint64_t votes = 0;
    EACH_ACTIVE_LANE(lane) votes |= (uint64_t)(LANE_ARGUMENT(lane, 0, uint8_t) & 1) << lane;
    return votes;
}

COLLECTIVE_MODEL(amdgcn_ballot_i64) {
    uint64_t votes = ballot(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint64_t) = votes;
}

COLLECTIVE_MODEL(amdgcn_ballot_i32) {
    uint32_t votes = (uint32_t)ballot(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = votes;
}
