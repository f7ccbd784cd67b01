/* Values that move between lanes by an address, a pattern or a selector.
 *
 * Sources: AMD Instinct MI300 ISA, DS_BPERMUTE_B32, DS_SWIZZLE_B32; RDNA3 ISA,
 * V_PERMLANEX16_B32; AMD Instinct CDNA4 ISA, V_PERMLANE16_SWAP_B32 and
 * V_PERMLANE32_SWAP_B32. */
#include "waves.h"

static void report_inactive(const Warp *warp, int lane, int source) {
    report(FINDING_INACTIVE_SOURCE, warp->lanes[lane], "reads lane %d, which takes no part", source);
}

/* Give a lane what another one passes, or 0 and a finding if that one takes no part. */
static void fetch(Warp *warp, int lane, int source, int position) {
    if (is_active(warp, source)) {
        copy_argument(warp, lane, source, position, 4);
        return;
    }
    report_inactive(warp, lane, source);
    LANE_RESULT(lane, uint32_t) = 0;
}

/* ------------------------------------------------------------------ through the LDS hardware */

/* The lane at a byte address, within as many lanes as the hardware exchanges between: 64 up to gfx9, 32
 * later. */
static int addressed_lane(int lane, uint32_t address, int exchanged) {
    int base = lane & ~(exchanged - 1);
    return base + (int)(address / 4 % (uint32_t)exchanged);
}

/* (address, value): pull. */
static void pull(Warp *warp, int exchanged) {
    EACH_ACTIVE_LANE(lane) {
        uint32_t address = LANE_ARGUMENT(lane, 0, uint32_t);
        fetch(warp, lane, addressed_lane(lane, address, exchanged), 1);
    }
}

COLLECTIVE_MODEL(amdgcn_ds_bpermute_gfx9) { pull(warp, 64); }
COLLECTIVE_MODEL(amdgcn_ds_bpermute_gfx10) { pull(warp, 32); }

/* (value, pattern): within four lanes if bit 15 is set, within 32 lanes otherwise. */
COLLECTIVE_MODEL(amdgcn_ds_swizzle) {
    EACH_ACTIVE_LANE(lane) {
        uint32_t pattern = LANE_ARGUMENT(lane, 1, uint32_t);
        uint32_t place = (uint32_t)lane & 31;
        if (pattern >= 0xC000) {
            report(FINDING_UNSUPPORTED_OPERAND, warp->lanes[lane], "rotation 0x%x", pattern);
            memset(warp->lanes[lane]->result, UNDEFINED_BYTE, 4);
        } else if (pattern & 0x8000) {
            fetch(warp, lane, (lane & ~3) | (int)(pattern >> 2 * (lane & 3) & 3), 0);
        } else {
            uint32_t and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
            fetch(warp, lane, (lane & 32) + (int)(((place & and_mask) | or_mask) ^ xor_mask), 0);
        }
    }
}

/* ------------------------------------------------------------------ permlanex16 (gfx10) */

/* (old, value, selectors of places 0 to 7, of places 8 to 15, fetch inactive, bound control): each lane
 * names by four bits a lane of a row of 16, the other one of the pair of rows.  What an inactive lane holds
 * is not known here, so fetching it is reported; otherwise 0 or the old value stands in. */
static void permute_row(Warp *warp, size_t bytes) {
    uint64_t selectors = uniform_argument(warp, 2) | (uint64_t)uniform_argument(warp, 3) << 32;
    EACH_ACTIVE_LANE(lane) {
        int source = ((lane & ~15) ^ 16) + (int)(selectors >> 4 * (lane & 15) & 15);
        int fetch_inactive = LANE_ARGUMENT(lane, 4, uint8_t) & 1;
        int bound_control = LANE_ARGUMENT(lane, 5, uint8_t) & 1;
        if (is_active(warp, source)) {
            copy_argument(warp, lane, source, 1, bytes);
        } else if (fetch_inactive) {
            report_inactive(warp, lane, source);
            memset(warp->lanes[lane]->result, UNDEFINED_BYTE, bytes);
        } else if (bound_control) {
            memset(warp->lanes[lane]->result, 0, bytes);
        } else {
            copy_argument(warp, lane, lane, 0, bytes);
        }
    }
}

COLLECTIVE_MODEL(amdgcn_permlanex16_b16) { permute_row(warp, 2); }
COLLECTIVE_MODEL(amdgcn_permlanex16_b32) { permute_row(warp, 4); }
COLLECTIVE_MODEL(amdgcn_permlanex16_b64) { permute_row(warp, 8); }

/* ------------------------------------------------------------------ permlane*.swap (gfx950) */

/* (first, second, …) → {first, second}: the odd groups of `width` lanes of the first operand change places
 * with the even groups of the second. */
static void swap_groups(Warp *warp, int width) {
    EACH_ACTIVE_LANE(lane) {
        int is_odd = lane / width % 2;
        int partner = is_odd ? lane - width : lane + width;
        uint32_t theirs = 0;
        if (is_active(warp, partner)) theirs = LANE_ARGUMENT(partner, is_odd ? 1 : 0, uint32_t);
        else report_inactive(warp, lane, partner);
        uint32_t *result = &LANE_RESULT(lane, uint32_t);
        result[0] = is_odd ? theirs : LANE_ARGUMENT(lane, 0, uint32_t);
        result[1] = is_odd ? LANE_ARGUMENT(lane, 1, uint32_t) : theirs;
    }
}

COLLECTIVE_MODEL(amdgcn_permlane16_swap) { swap_groups(warp, 16); }
COLLECTIVE_MODEL(amdgcn_permlane32_swap) { swap_groups(warp, 32); }
