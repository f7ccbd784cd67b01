/* Intrinsics on buffer resources: raw buffers only.
 *
 * Source: LLVM, "User Guide for AMDGPU Backend", address spaces 7 and 8 and make.buffer.rsrc; AMD
 * Instinct MI300 ISA, the table of the buffer resource descriptor.  The names end with the bits of a
 * value. */
#include "windows.h"

typedef char *Pointer;

/* In the 16 bits of the stride; addresses of elements are then no longer sums. */
#define SWIZZLE_ENABLE 0x8000

/* (base, stride, number of records, flags).  The number is 32 bits wide in the descriptors of these GPUs,
 * whatever the operand's type.  With swizzling disabled the stride only steers the cache. */
LANE_MODEL(amdgcn_make_buffer_rsrc) {
    if (ARGUMENT(1, uint16_t) & SWIZZLE_ENABLE)
        report(FINDING_UNSUPPORTED_OPERAND, lane, "swizzled buffer, stride 0x%x", ARGUMENT(1, uint16_t));
    RESULT(char *) = amdgcn_make_window(ARGUMENT(0, Pointer), ARGUMENT(2, uint32_t));
}

/* (resource, offset, scalar offset, cache policy).  Both offsets count for the range check. */
static void load(const Lane *lane, const char *arguments, char *result, size_t bytes) {
    uint32_t offset = ARGUMENT(1, uint32_t) + ARGUMENT(2, uint32_t);
    amdgcn_read_window(lane, ARGUMENT(0, Pointer), offset, result, bytes);
}

LANE_MODEL(amdgcn_raw_ptr_buffer_load_b8) { load(lane, arguments, result, 1); }
LANE_MODEL(amdgcn_raw_ptr_buffer_load_b16) { load(lane, arguments, result, 2); }
LANE_MODEL(amdgcn_raw_ptr_buffer_load_b32) { load(lane, arguments, result, 4); }
LANE_MODEL(amdgcn_raw_ptr_buffer_load_b64) { load(lane, arguments, result, 8); }
LANE_MODEL(amdgcn_raw_ptr_buffer_load_b96) { load(lane, arguments, result, 12); }
LANE_MODEL(amdgcn_raw_ptr_buffer_load_b128) { load(lane, arguments, result, 16); }

/* (value, resource, offset, scalar offset, cache policy). */
static void store(const Lane *lane, const char *arguments, size_t bytes) {
    uint32_t offset = ARGUMENT(2, uint32_t) + ARGUMENT(3, uint32_t);
    amdgcn_write_window(lane, ARGUMENT(1, Pointer), offset, arguments, bytes);
}

LANE_MODEL(amdgcn_raw_ptr_buffer_store_b8) { store(lane, arguments, 1); }
LANE_MODEL(amdgcn_raw_ptr_buffer_store_b16) { store(lane, arguments, 2); }
LANE_MODEL(amdgcn_raw_ptr_buffer_store_b32) { store(lane, arguments, 4); }
LANE_MODEL(amdgcn_raw_ptr_buffer_store_b64) { store(lane, arguments, 8); }
LANE_MODEL(amdgcn_raw_ptr_buffer_store_b96) { store(lane, arguments, 12); }
LANE_MODEL(amdgcn_raw_ptr_buffer_store_b128) { store(lane, arguments, 16); }
