/* Buffer resources as windows.
 *
 * Every resource has a window of 2^40 addresses that no x86-64 process can have.  Its first byte lies in
 * the middle, at a multiple of 2^32, so that the lower 32 bits of a pointer are the offset into the resource,
 * wrapped around as the hardware does, and sums of positive and negative offsets stay within the window.
 *
 * Sources: AMD Instinct MI300 ISA, "Memory Buffer Load, Store, and Atomic Operations", and RDNA3 ISA,
 * "Vector Memory Buffer Instructions", both under "Range checking": raw buffers are checked dword by
 * dword. */
#include "windows.h"

#include "buffers.h"

#define FIRST_WINDOW 0x6000000000000000u
#define WINDOW_BITS 40
#define NUMBERS (1u << 20)     /* of windows that addresses tell apart */
#define MAXIMUM_WINDOWS 4096   /* a power of two */
#define DWORD 4

typedef struct Window {
    char *base;
    uint32_t records;
    uint64_t number;    /* of the resource, from 1; 0: unused */
} Window;

/* The newest resources of this process; those of earlier workgroups give way to new ones. */
static Window windows[MAXIMUM_WINDOWS];
static uint64_t newest;

static Window *place_of(uint64_t number) { return &windows[number % MAXIMUM_WINDOWS]; }

/* The number of a resource, a new one where none of the newest is the same. */
static uint64_t number_of(char *base, uint32_t records) {
    uint64_t oldest = newest > MAXIMUM_WINDOWS ? newest - MAXIMUM_WINDOWS : 0;
    for (uint64_t number = newest; number > oldest; number--)
        if (place_of(number)->base == base && place_of(number)->records == records) return number;
    newest++;
    *place_of(newest) = (Window){base, records, newest};
    return newest;
}

char *amdgcn_make_window(char *base, uint32_t records) {
    uint64_t start = FIRST_WINDOW + (number_of(base, records) % NUMBERS << WINDOW_BITS);
    return (char *)(uintptr_t)(start + ((uint64_t)1 << (WINDOW_BITS - 1)));
}

/* The window that a pointer belongs to; NULL and a finding: none. */
static const Window *window_with(const Lane *lane, const char *pointer) {
    uint64_t value = (uint64_t)(uintptr_t)pointer;
    uint64_t number = (value - FIRST_WINDOW) >> WINDOW_BITS;
    const Window *window = place_of(number);
    if (number < NUMBERS && window->number && window->number % NUMBERS == number) return window;
    report(FINDING_OUT_OF_BOUNDS, lane, "%p is no buffer pointer", (const void *)pointer);
    return NULL;
}

static uint32_t offset_in_window(const char *pointer, uint32_t offset) {
    return (uint32_t)(uintptr_t)pointer + offset;
}

static int is_in_range(const Window *window, uint64_t offset, size_t bytes) {
    return offset + bytes <= window->records;
}

/* Read bytes that lie within the resource; zeros where the resource itself does not lie within a buffer. */
static void read_bytes(const Lane *lane, const char *address, char *destination, size_t bytes) {
    if (check_access(lane, address, bytes, ACCESS_LOAD)) memcpy(destination, address, bytes);
    else memset(destination, 0, bytes);
}

static void write_bytes(const Lane *lane, char *address, const char *source, size_t bytes) {
    if (check_access(lane, address, bytes, ACCESS_STORE)) memcpy(address, source, bytes);
}

static size_t component_bytes(size_t bytes, size_t done) {
    return bytes - done < DWORD ? bytes - done : DWORD;
}

void amdgcn_read_window(const Lane *lane, const char *pointer, uint32_t offset, char *destination,
                        size_t bytes) {
    const Window *window = window_with(lane, pointer);
    if (!window) {
        memset(destination, 0, bytes);
        return;
    }
    uint64_t start = offset_in_window(pointer, offset);
    if (is_in_range(window, start, bytes)) {
        read_bytes(lane, window->base + start, destination, bytes);
        return;
    }
    count_clamped(CLAMPED_BUFFER_LOAD, lane);
    for (size_t done = 0; done < bytes; done += DWORD) {
        size_t component = component_bytes(bytes, done);
        if (is_in_range(window, start + done, component))
            read_bytes(lane, window->base + start + done, destination + done, component);
        else
            memset(destination + done, 0, component);
    }
}

void amdgcn_write_window(const Lane *lane, char *pointer, uint32_t offset, const char *source, size_t bytes) {
    const Window *window = window_with(lane, pointer);
    if (!window) return;
    uint64_t start = offset_in_window(pointer, offset);
    if (is_in_range(window, start, bytes)) {
        write_bytes(lane, window->base + start, source, bytes);
        return;
    }
    count_clamped(CLAMPED_BUFFER_STORE, lane);
    for (size_t done = 0; done < bytes; done += DWORD) {
        size_t component = component_bytes(bytes, done);
        if (is_in_range(window, start + done, component))
            write_bytes(lane, window->base + start + done, source + done, component);
    }
}

__attribute__((visibility("default")))
void buffer_load(const char *pointer, char *destination, uint64_t bytes, int32_t site) {
    current_lane->site = site;
    amdgcn_read_window(current_lane, pointer, 0, destination, bytes);
}

__attribute__((visibility("default")))
void buffer_store(char *pointer, const char *source, uint64_t bytes, int32_t site) {
    current_lane->site = site;
    amdgcn_write_window(current_lane, pointer, 0, source, bytes);
}
