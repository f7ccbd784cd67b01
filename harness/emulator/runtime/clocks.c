/* Which actions of other lanes a lane's own come after.
 *
 * Across warps: vector clocks.  A lane's clock counts its arrivals at barriers.  What a lane of warp u did at clock c
 * comes before what warp w does now if w has learnt of u's clock c, through barriers; see Lamport 1978 for the idea,
 * Flanagan and Freund 2009 (FastTrack) for its use in race detectors.  Clocks go on from workgroup to workgroup, so
 * that what is left of an earlier workgroup in the records of shared memory is recognised by its age.
 *
 * Within a warp: Lamport's clocks, called steps here.  A warp-wide operation or a barrier makes the steps of all lanes
 * that meet there larger than any of them had before, so that one action can only come after another if its step is
 * larger.
 */
#include "internal.h"

uint32_t seen[MAXIMUM_WARPS][MAXIMUM_WARPS];
uint32_t first_clock = 1;

static uint32_t highest = 0;

void reset_clocks(void) {
    first_clock = highest + 2;
    highest = first_clock;
    for (int warp = 0; warp < warp_count; warp++) {
        /* Of warps that only larger workgroups had, too: shared memory has records of them. */
        for (int other = 0; other < MAXIMUM_WARPS; other++) seen[warp][other] = first_clock - 1;
        seen[warp][warp] = UINT32_MAX;
    }
    for (int i = 0; i < lane_count; i++) {
        lanes[i].state->clock = first_clock;
        lanes[i].state->step = 0;
    }
}

void merge_into(uint32_t *past, const Lane *lane) {
    int warp = lane->warp->index;
    uint32_t *clock = &lane->state->clock;
    for (int other = 0; other < warp_count; other++)
        if (other != warp && seen[warp][other] > past[other]) past[other] = seen[warp][other];
    if (*clock > past[warp]) past[warp] = *clock;
    ++*clock;
    if (*clock > highest) highest = *clock;
}

void learn(int warp, const uint32_t *past) {
    for (int other = 0; other < warp_count; other++)
        if (past[other] > seen[warp][other]) seen[warp][other] = past[other];
}

void meet(Warp *warp) {
    uint32_t last = 0;
    EACH_ACTIVE_LANE(lane) {
        uint32_t step = warp->lanes[lane]->state->step;
        if (step > last) last = step;
    }
    EACH_ACTIVE_LANE(lane) warp->lanes[lane]->state->step = last + 1;
}
