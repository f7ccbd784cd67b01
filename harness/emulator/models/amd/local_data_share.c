/* Wave-wide reads and writes of the local data share (shared memory). */
#include "waves.h"
#include "windows.h"

/* ------------------------------------------------------------------ ds.read.tr16.b64 (gfx950) */

/* Each lane of 16 reads four 16-bit elements, so that four lanes together read a row of a 4×16 matrix, and
 * then gets the column of its own number.  Source: AMD Instinct CDNA4 ISA, section 11.4,
 * DS_READ_B64_TR_B16. */
#define TRANSPOSED_LANES 16
#define TRANSPOSED_ELEMENTS 4

static void read_elements(const Lane *lane, const char *address, uint16_t *elements) {
    size_t bytes = TRANSPOSED_ELEMENTS * sizeof *elements;
    if ((uintptr_t)address % bytes)
        report(FINDING_UNALIGNED, lane, "%p is no multiple of %zu", (const void *)address, bytes);
    if (check_access(lane, address, bytes, ACCESS_LOAD)) memcpy(elements, address, bytes);
}

COLLECTIVE_MODEL(amdgcn_ds_read_tr16_b64) {
    uint16_t read[MAXIMUM_WARP][TRANSPOSED_ELEMENTS];
    memset(read, UNDEFINED_BYTE, sizeof read);
    EACH_ACTIVE_LANE(lane) read_elements(warp->lanes[lane], LANE_ARGUMENT(lane, 0, const char *), read[lane]);
    EACH_ACTIVE_LANE(lane) {
        int first = lane - lane % TRANSPOSED_LANES, column = lane % TRANSPOSED_LANES;
        for (int row = 0; row < TRANSPOSED_ELEMENTS; row++) {
            int reader = first + TRANSPOSED_ELEMENTS * row + column / TRANSPOSED_ELEMENTS;
            if (!is_active(warp, reader))
                report(FINDING_INACTIVE_SOURCE, warp->lanes[lane],
                       "row %d comes from lane %d, which takes no part", row, reader);
            (&LANE_RESULT(lane, uint16_t))[row] = read[reader][column % TRANSPOSED_ELEMENTS];
        }
    }
}

/* ------------------------------------------------------------------ loads to LDS (gfx9) */

/* Lane l of a wave writes what it loads to the address that the wave shares plus l times the size.
 *
 * The data is there at once: in LLVM IR nothing waits for these loads, the back end puts the waits before the
 * barriers and the reads that need them.  Source: AMD Instinct MI300 ISA, "Memory Buffer Load to LDS"; LLVM,
 * IntrinsicsAMDGPU, for the operands, of which the immediate offset counts for both addresses. */
#define LARGEST_SIZE 16

/* Read what a lane loads; whether it may. */
typedef int (*LaneLoad)(Warp *warp, int lane, int32_t offset, char *data, size_t bytes);

static int load_from_memory(Warp *warp, int lane, int32_t offset, char *data, size_t bytes) {
    const char *address = LANE_ARGUMENT(lane, 0, const char *) + offset;
    if (!check_access(warp->lanes[lane], address, bytes, ACCESS_LOAD)) return 0;
    memcpy(data, address, bytes);
    return 1;
}

static int load_from_window(Warp *warp, int lane, int32_t offset, char *data, size_t bytes) {
    const char *pointer = LANE_ARGUMENT(lane, 0, const char *);
    amdgcn_read_window(warp->lanes[lane], pointer, (uint32_t)offset, data, bytes);
    return 1;
}

/* raw.ptr.buffer.load.lds has an offset and a scalar offset of its own, arguments 3 and 4. */
static int load_from_offset(Warp *warp, int lane, int32_t offset, char *data, size_t bytes) {
    const char *pointer = LANE_ARGUMENT(lane, 0, const char *);
    uint32_t sum = (uint32_t)offset + LANE_ARGUMENT(lane, 3, uint32_t) + LANE_ARGUMENT(lane, 4, uint32_t);
    amdgcn_read_window(warp->lanes[lane], pointer, sum, data, bytes);
    return 1;
}

/* The address that counts for the wave. */
static char *shared_destination(Warp *warp) {
    char *destination = LANE_ARGUMENT(first_active(warp), 1, char *);
    EACH_ACTIVE_LANE(lane) {
        if (LANE_ARGUMENT(lane, 1, char *) != destination)
            report(FINDING_REPLICATION, warp->lanes[lane], "LDS address differs from lane %d's",
                   first_active(warp));
    }
    return destination;
}

/* (source, destination, size, …), with the immediate offset at `offset_position`. */
static void load_to_lds(Warp *warp, LaneLoad load, int offset_position) {
    const Lane *first = warp->lanes[first_active(warp)];
    int32_t size = LANE_ARGUMENT(first->index, 2, int32_t);
    int32_t offset = LANE_ARGUMENT(first->index, offset_position, int32_t);
    if (size != 4 && size != 16) {
        report(FINDING_UNSUPPORTED_OPERAND, first, "%d bytes a lane", size);
        return;
    }
    char *destination = shared_destination(warp) + offset;
    EACH_ACTIVE_LANE(lane) {
        char data[LARGEST_SIZE];
        char *place = destination + (size_t)lane * (size_t)size;
        if (!load(warp, lane, offset, data, (size_t)size)) continue;
        if (check_access(warp->lanes[lane], place, (size_t)size, ACCESS_STORE))
            memcpy(place, data, (size_t)size);
    }
}

COLLECTIVE_MODEL(amdgcn_load_to_lds) { load_to_lds(warp, load_from_memory, 3); }
COLLECTIVE_MODEL(amdgcn_load_to_lds_buffer) { load_to_lds(warp, load_from_window, 3); }
COLLECTIVE_MODEL(amdgcn_raw_ptr_buffer_load_lds) { load_to_lds(warp, load_from_offset, 5); }
