/* Votes, matches, reductions and elections among the lanes of a member mask (PTX ISA 9.2, section 9.7.13:
 * vote.sync, match.sync, activemask, redux.sync, elect.sync). */
#include "values.h"
#include "warp.h"

/* ------------------------------------------------------------------ vote.sync: member mask, predicate */

/* The lanes whose predicate is set. */
static uint32_t votes_of(const Warp *warp) {
    uint32_t votes = 0;
    EACH_ACTIVE_LANE(lane) {
        uint32_t predicate = LANE_ARGUMENT(lane, 1, uint8_t) & 1;
        votes |= predicate << lane;
    }
    return votes;
}

COLLECTIVE_MODEL(nvvm_vote_ballot_sync) {
    check_member_masks(warp, 0, "vote.sync.ballot");
    uint32_t votes = votes_of(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = votes & members(warp, lane, 0);
}

COLLECTIVE_MODEL(nvvm_vote_all_sync) {
    check_member_masks(warp, 0, "vote.sync.all");
    uint32_t votes = votes_of(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint8_t) = (members(warp, lane, 0) & ~votes) == 0;
}

COLLECTIVE_MODEL(nvvm_vote_any_sync) {
    check_member_masks(warp, 0, "vote.sync.any");
    uint32_t votes = votes_of(warp);
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint8_t) = (members(warp, lane, 0) & votes) != 0;
}

COLLECTIVE_MODEL(nvvm_vote_uni_sync) {
    check_member_masks(warp, 0, "vote.sync.uni");
    uint32_t votes = votes_of(warp);
    EACH_ACTIVE_LANE(lane) {
        uint32_t voters = members(warp, lane, 0);
        LANE_RESULT(lane, uint8_t) = (voters & votes) == 0 || (voters & ~votes) == 0;
    }
}

COLLECTIVE_MODEL(nvvm_activemask) { EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = (uint32_t)warp->active; }

/* ------------------------------------------------------------------ match.sync: member mask, value */

/* The members that hold the lane's value. */
static uint32_t equals_of(const Warp *warp, int lane, size_t bytes) {
    uint32_t equals = 0;
    EACH_ACTIVE_LANE(other) {
        const char *own = &LANE_ARGUMENT(lane, 1, char);
        if (memcmp(own, &LANE_ARGUMENT(other, 1, char), bytes) == 0) equals |= (uint32_t)1 << other;
    }
    return equals & members(warp, lane, 0);
}

static void match_any(Warp *warp, size_t bytes) {
    check_member_masks(warp, 0, "match.any.sync");
    EACH_ACTIVE_LANE(lane) LANE_RESULT(lane, uint32_t) = equals_of(warp, lane, bytes);
}

/* The member mask if all members hold the same value, else 0; and whether they do. */
static void match_all(Warp *warp, size_t bytes) {
    check_member_masks(warp, 0, "match.all.sync");
    EACH_ACTIVE_LANE(lane) {
        uint32_t all = members(warp, lane, 0);
        int agree = equals_of(warp, lane, bytes) == all;
        LANE_RESULT(lane, uint32_t) = agree ? all : 0;
        warp->lanes[lane]->result[sizeof all] = (char)agree;
    }
}

COLLECTIVE_MODEL(nvvm_match_any_sync_i32) { match_any(warp, sizeof(uint32_t)); }
COLLECTIVE_MODEL(nvvm_match_any_sync_i64) { match_any(warp, sizeof(uint64_t)); }
COLLECTIVE_MODEL(nvvm_match_all_sync_i32p) { match_all(warp, sizeof(uint32_t)); }
COLLECTIVE_MODEL(nvvm_match_all_sync_i64p) { match_all(warp, sizeof(uint64_t)); }

/* ------------------------------------------------------------------ redux.sync: value, member mask */

typedef uint32_t (*Combine)(uint32_t a, uint32_t b);

static uint32_t sum(uint32_t a, uint32_t b) { return a + b; }
static uint32_t bitwise_and(uint32_t a, uint32_t b) { return a & b; }
static uint32_t bitwise_or(uint32_t a, uint32_t b) { return a | b; }
static uint32_t bitwise_xor(uint32_t a, uint32_t b) { return a ^ b; }
static uint32_t signed_least(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }
static uint32_t signed_largest(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }
static uint32_t unsigned_least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t unsigned_largest(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void reduce(Warp *warp, Combine combine) {
    check_member_masks(warp, 1, "redux.sync");
    EACH_ACTIVE_LANE(lane) {
        uint32_t group = members(warp, lane, 1);
        uint32_t total = LANE_ARGUMENT(lane, 0, uint32_t);
        EACH_ACTIVE_LANE(other) {
            if (other != lane && group >> other & 1) total = combine(total, LANE_ARGUMENT(other, 0, uint32_t));
        }
        LANE_RESULT(lane, uint32_t) = total;
    }
}

COLLECTIVE_MODEL(nvvm_redux_sync_add) { reduce(warp, sum); }
COLLECTIVE_MODEL(nvvm_redux_sync_and) { reduce(warp, bitwise_and); }
COLLECTIVE_MODEL(nvvm_redux_sync_or) { reduce(warp, bitwise_or); }
COLLECTIVE_MODEL(nvvm_redux_sync_xor) { reduce(warp, bitwise_xor); }
COLLECTIVE_MODEL(nvvm_redux_sync_min) { reduce(warp, signed_least); }
COLLECTIVE_MODEL(nvvm_redux_sync_max) { reduce(warp, signed_largest); }
COLLECTIVE_MODEL(nvvm_redux_sync_umin) { reduce(warp, unsigned_least); }
COLLECTIVE_MODEL(nvvm_redux_sync_umax) { reduce(warp, unsigned_largest); }

/* Floats: +0 is larger than -0; NaN counts only with `.NaN`, else it is the result of nothing but NaN. */
typedef enum FloatReduction { KEEP_SIGN = 0, MAGNITUDE = 1, SPREAD_NAN = 2 } FloatReduction;

/* Ordered like the numbers, +0 above -0. */
static int32_t rank_of(float value) {
    int32_t bits = (int32_t)bits_of_float(value);
    return bits < 0 ? INT32_MIN - bits - 1 : bits;
}

static float reduced_float(const Warp *warp, uint32_t group, int largest, int flags) {
    float best = float_of_bits(CANONICAL_NAN);
    EACH_ACTIVE_LANE(other) {
        if (!(group >> other & 1)) continue;
        float value = LANE_ARGUMENT(other, 0, float);
        if (flags & MAGNITUDE) value = fabsf(value);
        if (isnan(value)) {
            if (flags & SPREAD_NAN) return float_of_bits(CANONICAL_NAN);
            continue;
        }
        int is_better = largest ? rank_of(value) > rank_of(best) : rank_of(value) < rank_of(best);
        if (isnan(best) || is_better) best = value;
    }
    return best;
}

static void reduce_floats(Warp *warp, int largest, int flags) {
    check_member_masks(warp, 1, "redux.sync");
    EACH_ACTIVE_LANE(lane) {
        LANE_RESULT(lane, float) = reduced_float(warp, members(warp, lane, 1), largest, flags);
    }
}

COLLECTIVE_MODEL(nvvm_redux_sync_fmin) { reduce_floats(warp, 0, KEEP_SIGN); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmin_abs) { reduce_floats(warp, 0, MAGNITUDE); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmin_nan) { reduce_floats(warp, 0, SPREAD_NAN); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmin_abs_nan) { reduce_floats(warp, 0, MAGNITUDE | SPREAD_NAN); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmax) { reduce_floats(warp, 1, KEEP_SIGN); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmax_abs) { reduce_floats(warp, 1, MAGNITUDE); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmax_nan) { reduce_floats(warp, 1, SPREAD_NAN); }
COLLECTIVE_MODEL(nvvm_redux_sync_fmax_abs_nan) { reduce_floats(warp, 1, MAGNITUDE | SPREAD_NAN); }

/* ------------------------------------------------------------------ elect.sync: member mask */

/* The leader's number and whether the lane is it; the ISA leaves the choice open, here it is the lowest. */
COLLECTIVE_MODEL(nvvm_elect_sync) {
    check_member_masks(warp, 0, "elect.sync");
    EACH_ACTIVE_LANE(lane) {
        uint32_t candidates = members(warp, lane, 0);
        uint32_t leader = candidates ? (uint32_t)__builtin_ctz(candidates) : POISON;
        LANE_RESULT(lane, uint32_t) = leader;
        warp->lanes[lane]->result[sizeof leader] = (char)(leader == (uint32_t)lane);
    }
}
