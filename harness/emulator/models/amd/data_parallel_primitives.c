/* DPP: an operand that comes from another lane, by a fixed pattern.
 *
 * Sources: AMD Instinct MI300 ISA and RDNA3 ISA, the tables of DPP_CTRL under "Data Parallel Processing
 * (DPP)"; LLVM, AMDGPU operand syntax, for the patterns that only some generations have.  The names end
 * with the bits of a value. */
#include "waves.h"

typedef enum Family { GFX9, GFX10 } Family;   /* gfx90a to gfx950; gfx10 and later */

/* What is no lane. */
#define OUT_OF_BOUNDS (-1)
#define NOT_COVERED (-2)

/* The place that row patterns read, or out of bounds. */
static int shifted(int place, int distance) {
    int source = place + distance;
    return source >= 0 && source < 16 ? source : OUT_OF_BOUNDS;
}

static int row_source(int row, int place) { return place == OUT_OF_BOUNDS ? OUT_OF_BOUNDS : row + place; }

/* Patterns that cross rows; gfx9 only.  row_bcast:15 reads the end of the row before, row_bcast:31 that of
 * the lower half of the wave. */
static int wave_source(int lane, int size, int control) {
    switch (control) {
        case 0x130: return lane + 1 < size ? lane + 1 : OUT_OF_BOUNDS;      /* wave_shl:1 */
        case 0x134: return (lane + 1) % size;                               /* wave_rol:1 */
        case 0x138: return lane > 0 ? lane - 1 : OUT_OF_BOUNDS;             /* wave_shr:1 */
        case 0x13C: return (lane + size - 1) % size;                        /* wave_ror:1 */
        case 0x142: return lane > 15 ? (lane & ~15) - 1 : OUT_OF_BOUNDS;    /* row_bcast:15 */
        case 0x143: return lane > 31 ? (lane & ~31) - 1 : OUT_OF_BOUNDS;    /* row_bcast:31 */
        default: return NOT_COVERED;
    }
}

/* The lane that a lane reads.  0x150 is called row_newbcast on gfx90a to gfx950 and row_share later. */
static int source_lane(Family family, int size, int lane, int control) {
    int row = lane & ~15, place = lane & 15, amount = control & 15;
    if (control >= 0 && control <= 0xFF) return (lane & ~3) | (control >> 2 * (lane & 3) & 3); /* quad_perm */
    if (control == 0x140) return row + (15 - place);                                     /* row_mirror */
    if (control == 0x141) return row + (place ^ 7);                                      /* row_half_mirror */
    switch (control & ~15) {
        case 0x100: return amount ? row_source(row, shifted(place, amount)) : NOT_COVERED;     /* row_shl */
        case 0x110: return amount ? row_source(row, shifted(place, -amount)) : NOT_COVERED;    /* row_shr */
        case 0x120: return amount ? row + (place + 16 - amount) % 16 : NOT_COVERED;            /* row_ror */
        case 0x150: return row + amount;                                                       /* row_share */
        case 0x160: return family == GFX10 ? row + (place ^ amount) : NOT_COVERED;             /* row_xmask */
        default: return family == GFX9 ? wave_source(lane, size, control) : NOT_COVERED;
    }
}

/* (old, value, control, row mask, bank mask, bound control).  A lane that the
 * masks exclude keeps its old value; a source that is out of bounds or inactive counts as 0 with bound
 * control and leaves the old value otherwise. */
static void move(Warp *warp, Family family, size_t bytes) {
    EACH_ACTIVE_LANE(lane) {
        int control = LANE_ARGUMENT(lane, 2, int32_t);
        int row_mask = LANE_ARGUMENT(lane, 3, int32_t);
        int bank_mask = LANE_ARGUMENT(lane, 4, int32_t);
        int bound_control = LANE_ARGUMENT(lane, 5, uint8_t) & 1;
        int source = source_lane(family, warp->size, lane, control);
        if (source == NOT_COVERED)
            report(FINDING_UNSUPPORTED_OPERAND, warp->lanes[lane], "dpp_ctrl 0x%x", control);
        int is_written = (row_mask >> lane / 16 & 1) && (bank_mask >> lane % 16 / 4 & 1);
        int is_there = source >= 0 && is_active(warp, source);
        if (is_written && is_there) copy_argument(warp, lane, source, 1, bytes);
        else if (is_written && bound_control) memset(warp->lanes[lane]->result, 0, bytes);
        else copy_argument(warp, lane, lane, 0, bytes);
    }
}

COLLECTIVE_MODEL(amdgcn_update_dpp_gfx9_b16) { move(warp, GFX9, 2); }
COLLECTIVE_MODEL(amdgcn_update_dpp_gfx9_b32) { move(warp, GFX9, 4); }
COLLECTIVE_MODEL(amdgcn_update_dpp_gfx9_b64) { move(warp, GFX9, 8); }
COLLECTIVE_MODEL(amdgcn_update_dpp_gfx10_b16) { move(warp, GFX10, 2); }
COLLECTIVE_MODEL(amdgcn_update_dpp_gfx10_b32) { move(warp, GFX10, 4); }
COLLECTIVE_MODEL(amdgcn_update_dpp_gfx10_b64) { move(warp, GFX10, 8); }
