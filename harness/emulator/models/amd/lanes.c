/* A value of one lane for all, votes, and reductions over a wave.
 *
 * Sources: AMD Instinct MI300 ISA and RDNA3 ISA, V_READLANE_B32, V_READFIRSTLANE_B32, V_WRITELANE_B32;
 * LLVM, "User Guide for AMDGPU Backend", for ballot and the reductions.  The names end with the bits of a
 * value. */
#include <math.h>

#include "waves.h"

/* ------------------------------------------------------------------ readfirstlane, readlane, writelane */

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

/* (value, lane, old): one lane gets the value, which is scalar, and the others keep the old one. */
static void write_lane(Warp *warp, size_t bytes) {
    int written = (int)(uniform_argument(warp, 1) % (uint32_t)warp->size);
    EACH_ACTIVE_LANE(lane) {
        if (lane == written) copy_argument(warp, lane, first_active(warp), 0, bytes);
        else copy_argument(warp, lane, lane, 2, bytes);
    }
}

COLLECTIVE_MODEL(amdgcn_writelane_b16) { write_lane(warp, 2); }
COLLECTIVE_MODEL(amdgcn_writelane_b32) { write_lane(warp, 4); }
COLLECTIVE_MODEL(amdgcn_writelane_b64) { write_lane(warp, 8); }

/* ------------------------------------------------------------------ votes */

static uint64_t ballot(Warp *warp) {
    uint64_t votes = 0;
    EACH_ACTIVE_LANE(lane) votes |= (uint64_t)(LANE_ARGUMENT(lane, 0, uint8_t) & 1) << lane;
    return votes;
}

COLLECTIVE_MODEL(amdgcn_ballot_b32) {
    uint64_t votes = ballot(warp);
    if (warp->size > 32)
        report(FINDING_UNSUPPORTED_OPERAND, warp->lanes[first_active(warp)], "32 bits for %d lanes",
               warp->size);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = (uint32_t)votes;
}

COLLECTIVE_MODEL(amdgcn_ballot_b64) {
    uint64_t votes = ballot(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint64_t) = votes;
}

/* ------------------------------------------------------------------ reductions over the active lanes */

typedef uint32_t (*Combine)(uint32_t, uint32_t);

static void reduce(Warp *warp, Combine combine) {
    int first = first_active(warp);
    uint32_t reduced = LANE_ARGUMENT(first, 0, uint32_t);
    EACH_ACTIVE_LANE(lane) {
        if (lane != first) reduced = combine(reduced, LANE_ARGUMENT(lane, 0, uint32_t));
    }
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = reduced;
}

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t add(uint32_t x, uint32_t y) { return x + y; }
static uint32_t minimum(uint32_t x, uint32_t y) { return (int32_t)x < (int32_t)y ? x : y; }
static uint32_t maximum(uint32_t x, uint32_t y) { return (int32_t)x > (int32_t)y ? x : y; }
static uint32_t unsigned_minimum(uint32_t x, uint32_t y) { return x < y ? x : y; }
static uint32_t unsigned_maximum(uint32_t x, uint32_t y) { return x > y ? x : y; }
static uint32_t float_add(uint32_t x, uint32_t y) { return as_bits(as_float(x) + as_float(y)); }

/* A NaN loses against a number. */
static uint32_t float_minimum(uint32_t x, uint32_t y) { return as_bits(fminf(as_float(x), as_float(y))); }
static uint32_t float_maximum(uint32_t x, uint32_t y) { return as_bits(fmaxf(as_float(x), as_float(y))); }

COLLECTIVE_MODEL(amdgcn_wave_reduce_add) { reduce(warp, add); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_min) { reduce(warp, minimum); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_max) { reduce(warp, maximum); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_umin) { reduce(warp, unsigned_minimum); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_umax) { reduce(warp, unsigned_maximum); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_fadd) { reduce(warp, float_add); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_fmin) { reduce(warp, float_minimum); }
COLLECTIVE_MODEL(amdgcn_wave_reduce_fmax) { reduce(warp, float_maximum); }
