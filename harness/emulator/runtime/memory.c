/* Global memory: the buffers of a launch, each between guard pages, and the bounds of every access. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

#define MAXIMUM_BUFFERS 256
#define PAGE 4096
#define POISON_BYTES 4096
#define REMEMBERED_SITES 1024

typedef struct Buffer {
    char *start;
    size_t bytes;
    char *area;             /* what was mapped for it; NULL: someone else's memory */
    size_t area_bytes;
    int is_writable;
    char name[40];
} Buffer;

static Buffer buffers[MAXIMUM_BUFFERS];
static int buffer_count;
static uint8_t last_found[REMEMBERED_SITES];   /* the buffer that a site accessed last */
static _Alignas(64) char poison[POISON_BYTES];

int emulator_has_room(void) { return buffer_count < MAXIMUM_BUFFERS; }

/* Returns 0 where there is no room. */
static int add(Buffer buffer, const char *name) {
    snprintf(buffer.name, sizeof buffer.name, "%s", name);
    emulator_lock();
    int has_room = emulator_has_room();
    if (has_room) buffers[buffer_count++] = buffer;
    emulator_unlock();
    return has_room;
}

static void remove_at(int index) {
    buffers[index] = buffers[--buffer_count];
    memset(last_found, 0, sizeof last_found);
}

void *emulator_allocate(size_t bytes, const char *name, int is_writable) {
    if (!emulator_has_room()) return NULL;
    size_t pages = (bytes + 63) / 64 * 64;
    pages = (pages + PAGE - 1) / PAGE * PAGE;
    char *area = mmap(NULL, pages + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) return NULL;
    mprotect(area, PAGE, PROT_NONE);
    mprotect(area + PAGE + pages, PAGE, PROT_NONE);
    /* The end, rounded to a cache line, touches the guard page. */
    char *start = area + PAGE + pages - (bytes + 63) / 64 * 64;
    memset(start, 0xFF, bytes);
    if (add((Buffer){.start = start, .bytes = bytes, .area = area, .area_bytes = pages + 2 * PAGE,
                     .is_writable = is_writable}, name))
        return start;
    munmap(area, pages + 2 * PAGE);
    return NULL;
}

void emulator_free(void *address) {
    emulator_lock();
    for (int i = 0; i < buffer_count; i++) {
        if (buffers[i].start != address) continue;
        if (buffers[i].area) munmap(buffers[i].area, buffers[i].area_bytes);
        remove_at(i);
        break;
    }
    emulator_unlock();
}

int emulator_register(void *address, size_t bytes, const char *name, int is_writable) {
    return add((Buffer){.start = address, .bytes = bytes, .is_writable = is_writable}, name) ? 0 : -1;
}

void emulator_unregister(void *address) { emulator_free(address); }

size_t writable_buffers(MemoryRange *ranges, size_t capacity) {
    size_t count = 0;
    for (int i = 0; i < buffer_count && count < capacity; i++)
        if (buffers[i].is_writable)
            ranges[count++] = (MemoryRange){(uint64_t)(uintptr_t)buffers[i].start, buffers[i].bytes};
    return count;
}

static int is_within(const Buffer *buffer, const char *address, size_t bytes) {
    return address >= buffer->start && address + bytes <= buffer->start + buffer->bytes;
}

static const Buffer *buffer_with(const char *address, size_t bytes, int site) {
    uint8_t *last = &last_found[(unsigned)site % REMEMBERED_SITES];
    if (is_within(&buffers[*last], address, bytes)) return &buffers[*last];
    for (int i = 0; i < buffer_count; i++) {
        if (!is_within(&buffers[i], address, bytes)) continue;
        *last = (uint8_t)i;
        return &buffers[i];
    }
    return NULL;
}

static int is_constant(const char *address, size_t bytes) {
    if (address >= launch.implicit_arguments && address + bytes <= launch.implicit_arguments + 256) return 1;
    for (int i = 0; i < running_kernel->constant_count; i++) {
        const char *start = (const char *)(uintptr_t)running_kernel->constants[i].start;
        if (address >= start && address + bytes <= start + running_kernel->constants[i].bytes) return 1;
    }
    return 0;
}

/* Say where an address lies, relative to the nearest buffer. */
const char *describe_address(const char *address, char *text, size_t capacity) {
    const Buffer *nearest = NULL;
    size_t distance = SIZE_MAX;
    for (int i = 0; i < buffer_count; i++) {
        const Buffer *buffer = &buffers[i];
        size_t gap = address < buffer->start ? (size_t)(buffer->start - address)
                     : address >= buffer->start + buffer->bytes
                         ? (size_t)(address - buffer->start - buffer->bytes) : 0;
        if (gap < distance) {
            distance = gap;
            nearest = buffer;
        }
    }
    if (!nearest || distance > (1u << 30)) snprintf(text, capacity, "address %p", (const void *)address);
    else snprintf(text, capacity, "%s %+td (it has %zu bytes)", nearest->name, address - nearest->start,
                  nearest->bytes);
    return text;
}

int check_access(const Lane *lane, const char *address, size_t bytes, Access access) {
    outcome->accesses++;
    if (is_shared(address)) return check_shared(lane, address, bytes, access);
    const Buffer *buffer = buffer_count ? buffer_with(address, bytes, lane->site) : NULL;
    char place[96];
    if (buffer && (access == ACCESS_LOAD || buffer->is_writable)) return 1;
    if (buffer) {
        report(FINDING_READ_ONLY, lane, "stores %zu bytes at %s, which the launch only reads", bytes,
               describe_address(address, place, sizeof place));
        return 0;
    }
    if (is_own_stack(lane, address, bytes)) return 1;
    if (access == ACCESS_LOAD && is_constant(address, bytes)) return 1;
    report(FINDING_OUT_OF_BOUNDS, lane, "%s %zu bytes at %s", access == ACCESS_STORE ? "stores" : "loads", bytes,
           describe_address(address, place, sizeof place));
    return 0;
}

static char *poison_address(uint64_t bytes) {
    if (bytes > POISON_BYTES) abort();
    memset(poison, 0xFF, bytes);
    return poison;
}

static char *checked_address(char *address, uint64_t bytes, uint64_t alignment, int32_t site, Access access) {
    current_lane->site = site;
    if ((uintptr_t)address & (alignment - 1))
        report(FINDING_UNALIGNED, current_lane, "%s %zu bytes at an address that is not a multiple of %zu",
               access == ACCESS_STORE ? "stores" : "loads", (size_t)bytes, (size_t)alignment);
    return check_access(current_lane, address, bytes, access) ? address : poison_address(bytes);
}

char *emulator_load_address(char *address, uint64_t bytes, uint64_t alignment, int32_t site) {
    return checked_address(address, bytes, alignment, site, ACCESS_LOAD);
}

char *emulator_store_address(char *address, uint64_t bytes, uint64_t alignment, int32_t site) {
    return checked_address(address, bytes, alignment, site, ACCESS_STORE);
}
