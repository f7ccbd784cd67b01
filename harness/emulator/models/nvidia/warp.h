/* What NVIDIA's warp-wide instructions ask of the lanes that take part. */
#ifndef HARNESS_NVIDIA_WARP_H
#define HARNESS_NVIDIA_WARP_H

#include "emulator.h"

#define WARP_LANES 32

/* What a lane gets where the ISA leaves the result open: NaN as a float, half or bfloat16. */
#define POISON 0xFFFFFFFFu

static inline const Lane *first_active_lane(const Warp *warp) {
    return warp->lanes[__builtin_ctzll(warp->active)];
}

/* `.aligned` instructions of the whole warp: all 32 lanes exist, none has returned, all are here. */
static inline int is_whole_warp(const Warp *warp, const char *instruction) {
    if (warp->size == WARP_LANES && warp->active == 0xFFFFFFFFu) return 1;
    report(FINDING_DIVERGENT_COLLECTIVE, first_active_lane(warp), "%s needs all 32 lanes, lanes %08llx are here",
           instruction, (unsigned long long)warp->active);
    return 0;
}

/* The results of lanes that an instruction cannot serve. */
static inline void poison_results(Warp *warp, size_t bytes) {
    EACH_ACTIVE_LANE(lane) memset(warp->lanes[lane]->result, 0xFF, bytes);
}

/* Whether the masks of all lanes that are here name just these lanes, of those that have not returned. */
static inline int names_active_lanes(const Warp *warp, int mask_argument) {
    uint32_t differing = 0;
    EACH_ACTIVE_LANE(lane) {
        uint32_t mask = LANE_ARGUMENT(lane, mask_argument, uint32_t);
        differing |= (mask & (uint32_t)warp->live) ^ (uint32_t)warp->active;
    }
    return !differing;
}

/* Check the member masks of a `.sync` instruction: a lane must be a member of its own mask, the members that have
 * not returned must be here, and must name the same members (PTX ISA 9.2, section 9.7.13, each `.sync`
 * instruction's membermask). */
static inline void check_member_masks(const Warp *warp, int mask_argument, const char *instruction) {
    if (names_active_lanes(warp, mask_argument)) return;
    EACH_ACTIVE_LANE(lane) {
        uint32_t mask = LANE_ARGUMENT(lane, mask_argument, uint32_t);
        uint32_t missing = mask & (uint32_t)(warp->live & ~warp->active);
        if (!(mask >> lane & 1))
            report(FINDING_MEMBER_MASK, warp->lanes[lane], "%s: lane %d is not in its member mask %08x",
                   instruction, lane, mask);
        if (missing)
            report(FINDING_DIVERGENT_COLLECTIVE, warp->lanes[lane],
                   "%s: lanes %08x of the member mask %08x are elsewhere", instruction, missing, mask);
        EACH_ACTIVE_LANE(other) {
            uint32_t other_mask = LANE_ARGUMENT(other, mask_argument, uint32_t);
            if (mask >> other & 1 && other_mask != mask) {
                report(FINDING_MEMBER_MASK, warp->lanes[lane],
                       "%s: lane %d names %08x, its member %d names %08x", instruction, lane, mask, other,
                       other_mask);
                break;
            }
        }
    }
}

/* The lanes that a lane's `.sync` instruction works on. */
static inline uint32_t members(const Warp *warp, int lane, int mask_argument) {
    return LANE_ARGUMENT(lane, mask_argument, uint32_t) & (uint32_t)warp->active;
}

#endif
