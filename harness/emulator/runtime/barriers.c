/* Workgroup and named barriers, whole and split. */
#include "internal.h"

typedef struct Barrier {
    int expected;                      /* lanes that complete the phase; 0: nobody has arrived yet */
    int is_whole;                      /* whether the code says that all lanes of the workgroup take part */
    int arrived;
    int site;                          /* of the first arrival of the phase */
    uint64_t phase;                    /* number of phases completed */
    uint32_t past[MAXIMUM_WARPS];      /* what the lanes that have arrived in this phase have seen */
    uint32_t released[MAXIMUM_WARPS];  /* the same of the last completed phase */
    uint32_t step;                     /* the latest step of the lanes that have arrived in this phase */
    uint32_t released_step;            /* the same of the last completed phase */
} Barrier;

static Barrier barriers[MAXIMUM_BARRIERS];

void reset_barriers(void) { memset(barriers, 0, sizeof barriers); }

static Barrier *find(const Lane *lane, int number) {
    if (number >= 0 && number < MAXIMUM_BARRIERS) return &barriers[number];
    report(FINDING_UNSUPPORTED_OPERAND, lane, "barrier %d; expected 0 to %d", number, MAXIMUM_BARRIERS - 1);
    return &barriers[0];
}

/* Let the lanes that wait go on. */
static void complete(Barrier *barrier) {
    int number = (int)(barrier - barriers);
    memcpy(barrier->released, barrier->past, sizeof barrier->past);
    memset(barrier->past, 0, sizeof barrier->past);
    barrier->released_step = barrier->step;
    barrier->step = 0;
    barrier->arrived = barrier->expected = 0;
    barrier->phase++;
    for (int i = 0; i < lane_count; i++) {
        LaneState *state = lanes[i].state;
        if (state->status == LANE_AT_BARRIER && state->barrier == number) state->status = LANE_RUNNABLE;
    }
}

static void check_site(const Lane *lane, Barrier *barrier, int number) {
    if (barrier->arrived == 0) barrier->site = lane->site;
    else if (barrier->is_whole && barrier->site != lane->site)
        report(FINDING_DIVERGENT_BARRIER, lane, "barrier %d is reached at different places of the code", number);
}

void barrier_arrive(const Lane *lane, int number, int threads) {
    Barrier *barrier = find(lane, number);
    int expected = threads ? threads : lane_count;
    if (barrier->expected && barrier->expected != expected)
        report(FINDING_DIVERGENT_BARRIER, lane, "barrier %d for %d threads, for %d elsewhere", number, expected,
               barrier->expected);
    barrier->is_whole = threads == 0;
    check_site(lane, barrier, number);
    barrier->expected = expected;
    barrier->arrived++;
    lane->state->phase[barrier - barriers] = barrier->phase;
    merge_into(barrier->past, lane);
    uint32_t step = lane->state->step++;
    if (step > barrier->step) barrier->step = step;
    if (barrier->arrived >= barrier->expected) complete(barrier);
}

void barrier_wait_arrived(const Lane *lane, int number) {
    Barrier *barrier = find(lane, number);
    int index = (int)(barrier - barriers);
    if (barrier->phase == lane->state->phase[index]) {
        lane->state->barrier = index;
        lane->state->status = LANE_AT_BARRIER;
        suspend();
    }
    learn(lane->warp->index, barrier->released);
    if (lane->state->step <= barrier->released_step) lane->state->step = barrier->released_step + 1;
}

void barrier_wait(const Lane *lane, int number, int threads) {
    barrier_arrive(lane, number, threads);
    barrier_wait_arrived(lane, number);
}

/* Report each barrier that lanes wait at and that no lane can complete any more, and let the lanes go on. */
void report_stuck_barriers(void) {
    for (int number = 0; number < MAXIMUM_BARRIERS; number++) {
        Barrier *barrier = &barriers[number];
        const Lane *waiting = NULL;
        for (int i = 0; i < lane_count && !waiting; i++)
            if (lanes[i].state->status == LANE_AT_BARRIER && lanes[i].state->barrier == number)
                waiting = &lanes[i];
        if (!waiting) continue;
        if (barrier->arrived)
            report(FINDING_DIVERGENT_BARRIER, waiting, "barrier %d: %d of %d threads arrived, the others wait "
                   "elsewhere or have returned", number, barrier->arrived, barrier->expected);
        else
            report(FINDING_DEADLOCK, waiting, "barrier %d: waits, but nobody arrives", number);
        complete(barrier);
    }
}
