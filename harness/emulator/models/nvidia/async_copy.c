/* cp.async (PTX ISA 9.2, section 9.7.9, "Non-bulk copy"): copies from global to shared memory that a lane starts,
 * closes into groups and waits for. */
#include "emulator.h"

/* Arguments: destination, source.  Of the source only `source_bytes` are read, the rest of the destination
 * becomes 0. */
static void copy(const Lane *lane, const char *arguments, uint32_t bytes, uint32_t source_bytes) {
    char *destination = (char *)ARGUMENT(0, uintptr_t);
    const char *source = ARGUMENT(1, const char *);
    if ((uintptr_t)destination % bytes != 0 || (uintptr_t)source % bytes != 0) {
        report(FINDING_UNALIGNED, lane, "cp.async: destination or source is not aligned to %u bytes", bytes);
        return;
    }
    if (source_bytes > bytes) {
        report(FINDING_UNSUPPORTED_OPERAND, lane, "cp.async: %u source bytes, more than the %u to copy",
               source_bytes, bytes);
        return;
    }
    if (!is_shared(destination)) {
        report(FINDING_SHARED_OUT_OF_BOUNDS, lane, "cp.async: the destination is not in shared memory");
        return;
    }
    if (source_bytes > 0 && is_shared(source)) {
        report(FINDING_OUT_OF_BOUNDS, lane, "cp.async: the source is not in global memory");
        return;
    }
    start_copy(lane, destination, source, bytes, source_bytes);   /* which checks the bounds of both ends */
}

/* `.ca` and `.cg` differ in the caches that they use. */
LANE_MODEL(nvvm_cp_async_4) { copy(lane, arguments, 4, 4); }
LANE_MODEL(nvvm_cp_async_8) { copy(lane, arguments, 8, 8); }
LANE_MODEL(nvvm_cp_async_16) { copy(lane, arguments, 16, 16); }

/* The third argument is the number of bytes to read. */
LANE_MODEL(nvvm_cp_async_4_s) { copy(lane, arguments, 4, ARGUMENT(2, uint32_t)); }
LANE_MODEL(nvvm_cp_async_8_s) { copy(lane, arguments, 8, ARGUMENT(2, uint32_t)); }
LANE_MODEL(nvvm_cp_async_16_s) { copy(lane, arguments, 16, ARGUMENT(2, uint32_t)); }

LANE_MODEL(nvvm_cp_async_commit_group) { commit_copies(lane); }
LANE_MODEL(nvvm_cp_async_wait_group) { wait_for_copies(lane, ARGUMENT(0, int32_t)); }
LANE_MODEL(nvvm_cp_async_wait_all) { wait_for_all_copies(lane); }
