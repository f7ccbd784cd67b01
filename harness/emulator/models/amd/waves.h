/* What the models of AMD's wave-wide instructions share. */
#ifndef HARNESS_AMD_WAVES_H
#define HARNESS_AMD_WAVES_H

#include "emulator.h"

/* The bytes of a result that the instruction leaves undefined: a NaN in every floating-point type. */
#define UNDEFINED_BYTE 0xFF

static inline int is_active(const Warp *warp, int lane) {
    return (int)(warp->active >> lane & 1);
}

static inline int first_active(const Warp *warp) {
    return __builtin_ctzll(warp->active);
}

/* Give a lane what another one passes as an argument. */
static inline void copy_argument(Warp *warp, int lane, int source, int position, size_t bytes) {
    memcpy(warp->lanes[lane]->result, warp->lanes[source]->arguments + ARGUMENT_BYTES * position, bytes);
}

/* An operand that the instruction takes from a scalar register: the first active lane's counts for all. */
static inline uint32_t uniform_argument(Warp *warp, int position) {
    uint32_t value = LANE_ARGUMENT(first_active(warp), position, uint32_t);
    EACH_ACTIVE_LANE(lane) {
        uint32_t own = LANE_ARGUMENT(lane, position, uint32_t);
        if (own != value)
            report(FINDING_REPLICATION, warp->lanes[lane],
                   "operand %d is scalar, but is 0x%x here and 0x%x in lane %d", position, own, value,
                   first_active(warp));
    }
    return value;
}

/* Leave the results of the active lanes undefined. */
static inline void spoil_results(Warp *warp, size_t bytes) {
    EACH_ACTIVE_LANE(lane) memset(warp->lanes[lane]->result, UNDEFINED_BYTE, bytes);
}

/* Whether all lanes of a wave of `size` take part, as a matrix instruction needs, which pays no attention to
 * EXEC; reports it otherwise. */
static inline int is_full_wave(const Warp *warp, int size) {
    const Lane *first = warp->lanes[first_active(warp)];
    uint64_t full = size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;
    if (warp->size == size && warp->active == full) return 1;
    report(FINDING_DIVERGENT_COLLECTIVE, first, "needs %d lanes of a wave, lanes 0x%llx of %d are here", size,
           (unsigned long long)warp->active, warp->size);
    return 0;
}

#endif
