/* The runtime's functions for models that are tested alone: nothing is scheduled and nothing copied, everything
 * is recorded.  `model_calls.py` is the other half. */
#include <stdarg.h>
#include <stdio.h>

#include "emulator.h"

#define MAXIMUM_ARGUMENTS 32
#define MAXIMUM_EVENTS 4096
#define MAXIMUM_RANGES 16

/* ------------------------------------------------------------------ recorded events; read by model_calls.py */

typedef enum EventKind {
    EVENT_FINDING = 0,
    EVENT_ACCESS = 1,
    EVENT_START_COPY = 2,
    EVENT_COMMIT_COPIES = 3,
    EVENT_WAIT_FOR_COPIES = 4,
    EVENT_WAIT_FOR_ALL_COPIES = 5,
    EVENT_CLAMPED = 6,
    EVENT_BARRIER_WAIT = 7,
    EVENT_BARRIER_ARRIVE = 8,
    EVENT_BARRIER_WAIT_ARRIVED = 9,
} EventKind;

typedef struct Event {
    int32_t kind;
    int32_t lane;              /* the lane's number within the warp */
    int32_t detail;            /* kind of finding, access or clamped access; number of a barrier; groups that stay pending */
    int32_t threads;           /* of a barrier */
    const char *address;       /* of an access; the destination of a copy */
    const char *source;        /* of a copy */
    uint64_t bytes;
    uint64_t source_bytes;     /* of a copy */
    char message[256];         /* of a finding */
} Event;

__attribute__((visibility("default"))) Event shim_events[MAXIMUM_EVENTS];
__attribute__((visibility("default"))) int shim_event_count;

static Event unrecorded;

static Event *record(EventKind kind, const Lane *lane, int detail) {
    Event *event = shim_event_count < MAXIMUM_EVENTS ? &shim_events[shim_event_count++] : &unrecorded;
    *event = (Event){.kind = kind, .lane = lane ? lane->index : -1, .detail = detail};
    return event;
}

/* ------------------------------------------------------------------ the runtime's functions */

__attribute__((visibility("default"))) Launch launch;
Lane *current_lane;

typedef struct Range {
    char *start;
    size_t bytes;
    int shared;
    int writable;
} Range;

static Range ranges[MAXIMUM_RANGES];
static int range_count;

static const Range *range_of(const char *address) {
    for (int i = 0; i < range_count; i++)
        if (address >= ranges[i].start && address < ranges[i].start + ranges[i].bytes) return &ranges[i];
    return NULL;
}

void report(FindingKind kind, const Lane *lane, const char *message, ...) {
    Event *event = record(EVENT_FINDING, lane, (int)kind);
    va_list values;
    va_start(values, message);
    vsnprintf(event->message, sizeof event->message, message, values);
    va_end(values);
}

int check_access(const Lane *lane, const char *address, size_t bytes, Access access) {
    Event *event = record(EVENT_ACCESS, lane, (int)access);
    event->address = address;
    event->bytes = bytes;
    const Range *range = range_of(address);
    if (!range || address + bytes > range->start + range->bytes) {
        report(range && range->shared ? FINDING_SHARED_OUT_OF_BOUNDS : FINDING_OUT_OF_BOUNDS, lane,
               "%zu bytes", bytes);
        return 0;
    }
    if (access == ACCESS_STORE && !range->writable) {
        report(FINDING_READ_ONLY, lane, "%zu bytes", bytes);
        return 0;
    }
    return 1;
}

int is_shared(const char *address) {
    const Range *range = range_of(address);
    return range && range->shared;
}

/* Checks both ends, as the runtime does. */
void start_copy(const Lane *lane, char *destination, const char *source, size_t bytes, size_t source_bytes) {
    if (source_bytes > 0) check_access(lane, source, source_bytes, ACCESS_LOAD);
    if (!check_access(lane, destination, bytes, ACCESS_STORE)) return;
    Event *event = record(EVENT_START_COPY, lane, 0);
    event->address = destination;
    event->source = source;
    event->bytes = bytes;
    event->source_bytes = source_bytes;
}

void commit_copies(const Lane *lane) { record(EVENT_COMMIT_COPIES, lane, 0); }
void wait_for_copies(const Lane *lane, int pending) { record(EVENT_WAIT_FOR_COPIES, lane, pending); }
void wait_for_all_copies(const Lane *lane) { record(EVENT_WAIT_FOR_ALL_COPIES, lane, 0); }
void count_clamped(Clamped kind, const Lane *lane) { record(EVENT_CLAMPED, lane, (int)kind); }

void barrier_wait(const Lane *lane, int barrier, int threads) {
    record(EVENT_BARRIER_WAIT, lane, barrier)->threads = threads;
}

void barrier_arrive(const Lane *lane, int barrier, int threads) {
    record(EVENT_BARRIER_ARRIVE, lane, barrier)->threads = threads;
}

void barrier_wait_arrived(const Lane *lane, int barrier) { record(EVENT_BARRIER_WAIT_ARRIVED, lane, barrier); }

/* ------------------------------------------------------------------ calls from Python */

static Warp warp;
static Lane lanes[MAXIMUM_WARP];
static char arguments[MAXIMUM_WARP][MAXIMUM_ARGUMENTS][ARGUMENT_BYTES] __attribute__((aligned(64)));
static char results[MAXIMUM_WARP][RESULT_BYTES] __attribute__((aligned(64)));

/* A new warp of `count` lanes that all take part, whose first thread has the number `first_thread`. */
__attribute__((visibility("default"))) void shim_begin(int warp_size, int count, int first_thread) {
    shim_event_count = 0;
    range_count = 0;
    memset(arguments, 0xA5, sizeof arguments);
    memset(results, 0xA5, sizeof results);
    warp = (Warp){.index = first_thread / warp_size, .size = warp_size, .count = count};
    for (int i = 0; i < count; i++) {
        lanes[i] = (Lane){.thread = first_thread + i, .index = i, .warp = &warp, .arguments = arguments[i][0],
                          .result = results[i]};
        warp.lanes[i] = &lanes[i];
        warp.live |= (uint64_t)1 << i;
    }
}

/* Memory that models may touch. */
__attribute__((visibility("default"))) void shim_memory(char *start, size_t bytes, int shared, int writable) {
    if (range_count < MAXIMUM_RANGES) ranges[range_count++] = (Range){start, bytes, shared, writable};
}

__attribute__((visibility("default"))) char *shim_argument(int lane, int position) {
    return arguments[lane][position];
}

__attribute__((visibility("default"))) char *shim_result(int lane) { return results[lane]; }

__attribute__((visibility("default"))) void shim_call_lane(LaneModel model, int lane) {
    current_lane = &lanes[lane];
    model(&lanes[lane], lanes[lane].arguments, lanes[lane].result);
}

__attribute__((visibility("default"))) void shim_call_collective(CollectiveModel model, uint64_t active) {
    warp.active = active;
    current_lane = NULL;
    model(&warp);
}

/* Lane 0 calls the model once for each of `count` rows of arguments; `values[k]` holds argument k of all rows,
 * `sizes[k]` bytes each. */
__attribute__((visibility("default")))
void shim_map_lane(LaneModel model, size_t count, int argument_count, const char *const *values,
                   const size_t *sizes, char *out, size_t result_bytes) {
    for (size_t row = 0; row < count; row++) {
        for (int k = 0; k < argument_count; k++) memcpy(arguments[0][k], values[k] + row * sizes[k], sizes[k]);
        shim_call_lane(model, 0);
        memcpy(out + row * result_bytes, results[0], result_bytes);
    }
}
