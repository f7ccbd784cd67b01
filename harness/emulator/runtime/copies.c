/* Asynchronous copies into shared memory, whose data arrives when the lane waits for it and not before. */
#include <stdlib.h>

#include "internal.h"

static Copy *append(LaneState *state) {
    if (state->copy_count == state->copy_capacity) {
        state->copy_capacity = state->copy_capacity ? 2 * state->copy_capacity : 16;
        state->copies = realloc(state->copies, (size_t)state->copy_capacity * sizeof *state->copies);
        if (!state->copies) abort();
    }
    return &state->copies[state->copy_count++];
}

void start_copy(const Lane *lane, char *destination, const char *source, size_t bytes, size_t source_bytes) {
    if (bytes > sizeof((Copy *)0)->data) {
        report(FINDING_UNSUPPORTED_OPERAND, lane, "an asynchronous copy of %zu bytes; expected up to 16", bytes);
        return;
    }
    Copy copy = {.destination = destination, .bytes = (unsigned char)bytes, .group = lane->state->open_group};
    if (source_bytes && check_access(lane, source, source_bytes, ACCESS_LOAD)) memcpy(copy.data, source, source_bytes);
    if (!check_access(lane, destination, bytes, ACCESS_STORE)) return;
    memset(destination, 0xFF, bytes);
    mark_in_flight(destination, bytes, 1);
    *append(lane->state) = copy;
}

void commit_copies(const Lane *lane) { lane->state->open_group++; }

/* Deliver the copies of all groups up to one. */
static void deliver(const Lane *lane, int last_group) {
    LaneState *state = lane->state;
    int kept = 0;
    for (int i = 0; i < state->copy_count; i++) {
        Copy *copy = &state->copies[i];
        if (copy->group > last_group) {
            state->copies[kept++] = *copy;
            continue;
        }
        mark_in_flight(copy->destination, copy->bytes, 0);
        check_access(lane, copy->destination, copy->bytes, ACCESS_STORE);
        memcpy(copy->destination, copy->data, copy->bytes);
    }
    state->copy_count = kept;
}

void wait_for_copies(const Lane *lane, int pending) { deliver(lane, lane->state->open_group - 1 - pending); }

void wait_for_all_copies(const Lane *lane) { deliver(lane, lane->state->open_group); }

void finish_copies(void) {
    for (int i = 0; i < lane_count; i++) {
        if (!lanes[i].state->copy_count) continue;
        report(FINDING_PENDING_COPY, &lanes[i], "returned with %d asynchronous copies not waited for",
               lanes[i].state->copy_count);
        return;
    }
}
