/* Consecutive memory, read and written by a sub-group together.
 *
 * Sources: cl_intel_subgroups and its _char, _short, _long; cl_intel_subgroup_local_block_io for shared memory.
 * Component i of lane l is element i * (size of a full sub-group) + l.  There is no clamping.
 *
 * The last arguments, from the registry, are bytes of an element, components, and the alignment that the
 * address needs.
 */
#include "sub_group.h"

/* Check what all lanes must agree on and return where the block begins. */
static char *block_address(Warp *warp, int alignment, const char *what) {
    require_all_lanes(warp, what);
    require_uniform(warp, 0, sizeof(char *), "the address of a block");
    char *address = LANE_ARGUMENT(first_lane(warp)->index, 0, char *);
    if ((uintptr_t)address % (uintptr_t)alignment)
        report(FINDING_UNALIGNED, first_lane(warp), "%s: address %p, not a multiple of %d", what,
               (void *)address, alignment);
    return address;
}

/* address, bytes of an element, components, alignment */
COLLECTIVE_MODEL(intel_sub_group_block_read) {
    int first = first_lane(warp)->index;
    size_t bytes = LANE_ARGUMENT(first, 1, uint32_t);
    int components = LANE_ARGUMENT(first, 2, int32_t);
    const char *block = block_address(warp, LANE_ARGUMENT(first, 3, int32_t), "a block read");
    EACH_ACTIVE_LANE(lane)
        for (int i = 0; i < components; i++) {
            const char *element = block + (size_t)(i * warp->size + lane) * bytes;
            char *value = &LANE_RESULT(lane, char) + (size_t)i * bytes;
            if (check_access(warp->lanes[lane], element, bytes, ACCESS_LOAD)) memcpy(value, element, bytes);
            else memset(value, 0, bytes);
        }
}

/* address, values, bytes of an element, components, alignment */
COLLECTIVE_MODEL(intel_sub_group_block_write) {
    int first = first_lane(warp)->index;
    size_t bytes = LANE_ARGUMENT(first, 2, uint32_t);
    int components = LANE_ARGUMENT(first, 3, int32_t);
    char *block = block_address(warp, LANE_ARGUMENT(first, 4, int32_t), "a block write");
    EACH_ACTIVE_LANE(lane)
        for (int i = 0; i < components; i++) {
            char *element = block + (size_t)(i * warp->size + lane) * bytes;
            const char *value = &LANE_ARGUMENT(lane, 1, char) + (size_t)i * bytes;
            if (check_access(warp->lanes[lane], element, bytes, ACCESS_STORE)) memcpy(element, value, bytes);
        }
}
