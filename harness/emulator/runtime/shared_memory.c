/* Shared memory of the workgroup that runs, and records of who accessed each of its bytes.
 *
 * Two accesses to a byte by different warps, one of them a store, are a race unless a barrier orders them.
 * Lanes of one warp count as ordered; where the launch asks for it, only warp-wide operations and barriers order them.
 *
 * Nearly every access finds its bytes in the same state, so that they are judged in runs of equal records.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"
#include "records.h"

/* The last store to a byte; a clock older than the workgroup's means that nothing has written it. */
typedef struct Write {
    uint32_t clock;
    uint16_t thread;
    uint8_t warp;
    uint8_t is_in_flight;
} Write;

_Static_assert(sizeof(Write) == sizeof(uint64_t), "records are compared and set as a whole");

/* The last load of a byte by lanes of one warp; only kept where lanes of a warp are checked against each other. */
typedef struct Read {
    uint32_t step;
    int32_t thread;   /* or SEVERAL, at the same step */
} Read;

#define SEVERAL (-1)

const Kernel *running_kernel;
static char *memory;
static MemoryRange *arrays;        /* what may be accessed: offsets */
static int array_count;
static int last_array;             /* that an access fell into */
static size_t used;                /* bytes up to the end of the last array */
static uint64_t *writes;           /* [byte], of `Write` */
static uint32_t *write_steps;      /* [byte]; like `reads` only where lanes of a warp are checked */
static uint32_t *read_clocks;      /* [warp][byte] */
static uint32_t *block_clocks;     /* [block of bytes][warp]: the latest of its read clocks */
static Read *reads;                /* [warp][byte] */
static size_t read_clock_capacity, block_clock_capacity, read_capacity;

/* A store looks at blocks first: mostly nobody has loaded from there that it does not come after. */
#define BLOCK_BYTES 64

void *emulator_shared_memory(void) {
    if (memory) return memory;
    size_t guard = 1 << 16;
    char *area = mmap(NULL, SHARED_CAPACITY + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (area == MAP_FAILED) abort();
    memory = area + guard;
    if (mprotect(memory, SHARED_CAPACITY, PROT_READ | PROT_WRITE)) abort();
    writes = calloc(SHARED_CAPACITY, sizeof *writes);
    write_steps = calloc(SHARED_CAPACITY, sizeof *write_steps);
    if (!writes || !write_steps) abort();
    return memory;
}

int is_shared(const char *address) { return (uint64_t)(address - memory) < SHARED_CAPACITY; }

/* ------------------------------------------------------------------ layout */

static void list_arrays(const Kernel *kernel, uint32_t dynamic_bytes) {
    arrays = realloc(arrays, sizeof *arrays * (size_t)(kernel->shared_array_count + 1));
    if (!arrays) abort();
    array_count = last_array = 0;
    for (int i = 0; i < kernel->shared_array_count; i++) arrays[array_count++] = kernel->shared_arrays[i];
    if (kernel->dynamic_offset >= 0)
        arrays[array_count++] = (MemoryRange){(uint64_t)kernel->dynamic_offset, dynamic_bytes};
}

size_t shared_memory_bytes(const Kernel *kernel, uint32_t dynamic_bytes) {
    uint64_t end = kernel->dynamic_offset < 0 ? 0 : (uint64_t)kernel->dynamic_offset + dynamic_bytes;
    for (int i = 0; i < kernel->shared_array_count; i++) {
        uint64_t array_end = kernel->shared_arrays[i].start + kernel->shared_arrays[i].bytes;
        end = array_end > end ? array_end : end;
    }
    return end;
}

/* Make room for `count` elements, zeroed. */
static void *zeroed(void *area, size_t *capacity, size_t count, size_t element) {
    if (count > *capacity) {
        free(area);
        area = calloc(count, element);
        if (!area) abort();
        *capacity = count;
    } else if (count) {
        memset(area, 0, count * element);
    }
    return area;
}

void prepare_shared_memory(const Kernel *kernel, uint32_t dynamic_bytes, int is_within_warps) {
    emulator_shared_memory();
    running_kernel = kernel;
    used = shared_memory_bytes(kernel, dynamic_bytes);
    list_arrays(kernel, dynamic_bytes);
    size_t count = used * (size_t)warp_count;
    read_clocks = zeroed(read_clocks, &read_clock_capacity, count, sizeof *read_clocks);
    size_t blocks = used / BLOCK_BYTES + 1;
    block_clocks = zeroed(block_clocks, &block_clock_capacity, blocks * (size_t)warp_count, sizeof *block_clocks);
    reads = zeroed(reads, &read_capacity, is_within_warps ? count : 0, sizeof *reads);
}

void poison_shared_memory(void) { memset(memory, 0xFF, used); }

/* Whether an access lies within one array. */
static inline int is_in_array(size_t offset, size_t bytes) {
    for (int i = 0; i < array_count; i++) {
        int index = last_array + i < array_count ? last_array + i : last_array + i - array_count;
        const MemoryRange *array = &arrays[index];
        if (offset < array->start || offset + bytes > array->start + array->bytes) continue;
        last_array = index;
        return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------ records */

static Write write_of(uint64_t record) {
    Write write;
    memcpy(&write, &record, sizeof write);
    return write;
}

static uint64_t record_of(Write write) {
    uint64_t record;
    memcpy(&record, &write, sizeof record);
    return record;
}

static int is_written(Write write) { return write.clock >= first_clock; }

static int is_in_flight(Write write) { return write.is_in_flight && is_written(write); }

/* Where the records stop to be the same as the first one. */
static inline size_t end_of_run(size_t first, size_t end) {
    if (are_equal(&writes[first], end - first)) return end;
    uint64_t record = writes[first];
    while (writes[first] == record) first++;
    return first;
}

/* ------------------------------------------------------------------ races */

static inline int races_with_write(const Lane *lane, Write write, size_t offset) {
    if (seen[lane->warp->index][write.warp] < write.clock) return 1;
    return checks_within_warps && is_written(write) && write.warp == lane->warp->index
        && write.thread != lane->thread && lane->state->step <= write_steps[offset];
}

/* Whether a lane has loaded from the blocks of these bytes that this lane does not come after. */
static int has_racing_reader_nearby(const uint32_t *own_seen, size_t offset, size_t bytes) {
    const uint32_t *clocks = &block_clocks[offset / BLOCK_BYTES * (size_t)warp_count];
    uint32_t is_later = 0;
    for (size_t block = offset / BLOCK_BYTES; block <= (offset + bytes - 1) / BLOCK_BYTES; block++)
        for (int warp = 0; warp < warp_count; warp++) is_later |= *clocks++ > own_seen[warp];
    return (int)is_later;
}

/* The warp of a lane that has loaded one of the bytes and that this lane does not come after, or -1. */
static int racing_reader(const Lane *lane, size_t offset, size_t bytes) {
    const uint32_t *own_seen = seen[lane->warp->index], *clocks = &read_clocks[offset];
    if (!has_racing_reader_nearby(own_seen, offset, bytes)) return -1;
    for (int warp = 0; warp < warp_count; warp++, clocks += used)
        if (has_later(clocks, bytes, own_seen[warp])) return warp;
    return -1;
}

/* The same among the lanes of the warp: whether there is one. */
static int races_with_own_warp(const Lane *lane, size_t offset, size_t bytes) {
    size_t row = (size_t)lane->warp->index * used;
    for (size_t i = row + offset; i < row + offset + bytes; i++)
        if (read_clocks[i] >= first_clock && reads[i].thread != lane->thread && lane->state->step <= reads[i].step)
            return 1;
    return 0;
}

static void note_read(const Lane *lane, size_t offset, size_t bytes) {
    size_t row = (size_t)lane->warp->index * used;
    uint32_t clock = lane->state->clock, step = lane->state->step;
    for (size_t i = row + offset; checks_within_warps && i < row + offset + bytes; i++) {
        int is_shared_read = read_clocks[i] >= first_clock && reads[i].step == step && reads[i].thread != lane->thread;
        reads[i] = (Read){step, is_shared_read ? SEVERAL : lane->thread};
    }
    raise_all(&read_clocks[row + offset], bytes, clock);
    for (size_t block = offset / BLOCK_BYTES; block <= (offset + bytes - 1) / BLOCK_BYTES; block++) {
        uint32_t *latest = &block_clocks[block * (size_t)warp_count + (size_t)lane->warp->index];
        if (clock > *latest) *latest = clock;
    }
}

static void note_write(const Lane *lane, size_t offset, size_t bytes) {
    Write write = {.clock = lane->state->clock,
                   .thread = (uint16_t)lane->thread,
                   .warp = (uint8_t)lane->warp->index};
    set_all(&writes[offset], bytes, record_of(write));
    for (size_t i = offset; checks_within_warps && i < offset + bytes; i++) write_steps[i] = lane->state->step;
}

/* ------------------------------------------------------------------ loads and stores */

static void check_load(const Lane *lane, size_t offset, size_t bytes) {
    int has_race = 0, has_unwritten = 0, has_in_flight = 0;
    for (size_t i = offset, end; i < offset + bytes; i = end) {
        Write write = write_of(writes[i]);
        end = checks_within_warps ? i + 1 : end_of_run(i, offset + bytes);
        if (is_in_flight(write) && !has_in_flight++)
            report(FINDING_IN_FLIGHT, lane, "loads shared memory +%zu before its asynchronous copy by thread %d "
                   "was waited for", i, write.thread);
        else if (!is_written(write) && !has_unwritten++)
            report(FINDING_UNINITIALIZED, lane, "loads shared memory +%zu, which nothing has written", i);
        if (!has_race && races_with_write(lane, write, i) && !has_race++)
            report(FINDING_RACE, lane, "loads shared memory +%zu, stored by thread %d, with no barrier in between",
                   i, write.thread);
    }
    note_read(lane, offset, bytes);
}

static void check_readers(const Lane *lane, size_t offset, size_t bytes) {
    int reader = racing_reader(lane, offset, bytes);
    if (reader < 0 && checks_within_warps && races_with_own_warp(lane, offset, bytes)) reader = lane->warp->index;
    if (reader >= 0)
        report(FINDING_RACE, lane, "stores %zu bytes to shared memory +%zu, loaded by warp %d, with no barrier in "
               "between", bytes, offset, reader);
}

static void check_store(const Lane *lane, size_t offset, size_t bytes) {
    int has_race = 0, has_in_flight = 0;
    for (size_t i = offset, end; i < offset + bytes; i = end) {
        Write write = write_of(writes[i]);
        end = checks_within_warps ? i + 1 : end_of_run(i, offset + bytes);
        if (is_in_flight(write) && !has_in_flight++)
            report(FINDING_IN_FLIGHT, lane, "stores to shared memory +%zu before the asynchronous copy by thread "
                   "%d to it was waited for", i, write.thread);
        if (!has_race && races_with_write(lane, write, i) && !has_race++)
            report(FINDING_RACE, lane, "stores to shared memory +%zu, also stored by thread %d, with no barrier in "
                   "between", i, write.thread);
    }
    if (!has_race) check_readers(lane, offset, bytes);
    note_write(lane, offset, bytes);
}

static void report_outside(const Lane *lane, size_t offset, size_t bytes, Access access) {
    size_t outside = offset;
    while (is_in_array(outside, 1)) outside++;
    report(FINDING_SHARED_OUT_OF_BOUNDS, lane, "%s %zu bytes at shared memory +%zu, of which +%zu is outside of "
           "the kernel's arrays", access == ACCESS_STORE ? "stores" : "loads", bytes, offset, outside);
}

int check_shared(const Lane *lane, const char *address, size_t bytes, Access access) {
    size_t offset = (size_t)(address - memory);
    if (!is_in_array(offset, bytes)) {
        report_outside(lane, offset, bytes, access);
        return 0;
    }
    if (access == ACCESS_STORE) check_store(lane, offset, bytes);
    else check_load(lane, offset, bytes);
    return 1;
}

void mark_in_flight(const char *address, size_t bytes, int is_in_flight) {
    size_t offset = (size_t)(address - memory);
    for (size_t i = offset; i < offset + bytes && i < SHARED_CAPACITY; i++) {
        Write write = write_of(writes[i]);
        write.is_in_flight = (uint8_t)is_in_flight;
        writes[i] = record_of(write);
    }
}
