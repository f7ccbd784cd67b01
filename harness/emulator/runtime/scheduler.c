/* Runs the lanes of one workgroup, each a fiber, and brings them together at warp-wide operations and barriers.
 *
 * A lane runs until it returns or has to wait.  When no lane of a warp can run, the warp-wide operation that
 * comes first in the code fires for all lanes that wait at it: the order of the code stands in for the
 * reconvergence that a compiler chooses.  When no warp can go on, barriers decide.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "the emulator switches fibers in x86-64 code, on Linux"
#endif

Launch launch;
Lane *current_lane;
Lane lanes[MAXIMUM_LANES];
Warp warps[MAXIMUM_WARPS];
int lane_count, warp_count;

static LaneState states[MAXIMUM_LANES];
static char *stacks;
static void *scheduler_stack_pointer;
static void **kernel_arguments;
static void (*kernel_entry)(void **arguments);
static int warp_order[MAXIMUM_WARPS];
static int lane_order[MAXIMUM_WARP];
static const Warp *running_warp;
static int running_place;    /* in `lane_order`, of the lane that runs */

/* Save the registers that a function must preserve and the stack pointer, and go on with another stack. */
void switch_stack(void **saved, void *next);
__asm__(
    ".text\n"
    ".globl switch_stack\n"
    ".hidden switch_stack\n"
    ".type switch_stack, @function\n"
    "switch_stack:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size switch_stack, . - switch_stack\n");

#define SAVED_REGISTERS 6

/* Stacks begin at different offsets, so that the same variable of all lanes does not fall into the same few lines of
 * the caches. */
#define STAGGER 576
#define STAGGERED 64

/* Each guard page splits a mapping, and forks copy mappings: lanes that no launch has used have none yet. */
void prepare_stacks(void) {
    static int guarded = 0;
    if (!stacks) {
        size_t bytes = (size_t)STACK_BYTES * MAXIMUM_LANES;
        stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) abort();
    }
    for (; guarded < lane_count; guarded++) mprotect(stacks + (size_t)STACK_BYTES * guarded, 4096, PROT_NONE);
}

int is_own_stack(const Lane *lane, const char *address, size_t bytes) {
    const char *stack = lane->state->stack;
    return address >= stack && address + bytes <= stack + STACK_BYTES;
}

/* The next lane of the running warp that can run, after the one that runs; NULL: none. */
static Lane *next_runnable(void) {
    while (++running_place < launch.warp_size) {
        int index = lane_order[running_place];
        if (index >= running_warp->count) continue;
        Lane *lane = running_warp->lanes[index];
        if (lane->state->status == LANE_RUNNABLE) return lane;
    }
    return NULL;
}

/* Goes on with the next lane at once: a processor predicts that better than a detour through the scheduler. */
void suspend(void) {
    Lane *suspended = current_lane, *next = next_runnable();
    if (next) current_lane = next;
    switch_stack(&suspended->state->stack_pointer, next ? next->state->stack_pointer : scheduler_stack_pointer);
}

static void run_kernel(void) {
    kernel_entry(kernel_arguments);
    current_lane->state->status = LANE_RETURNED;
    suspend();
    abort();
}

static void prepare_lane(int thread) {
    Lane *lane = &lanes[thread];
    LaneState *state = &states[thread];
    *lane = (Lane){.thread = thread,
                   .index = thread % launch.warp_size,
                   .warp = &warps[thread / launch.warp_size],
                   .site = -1,
                   .state = state};
    state->stack = stacks + (size_t)STACK_BYTES * thread;
    state->status = LANE_RUNNABLE;
    state->open_group = 0;
    state->copy_count = 0;
    memset(state->phase, 0, sizeof state->phase);
    void **top = (void **)(state->stack + STACK_BYTES - 64 - STAGGER * (thread % STAGGERED));
    *--top = NULL;                  /* where a return address would be: a function's stack is 16n + 8 at entry */
    *--top = (void *)run_kernel;
    for (int i = 0; i < SAVED_REGISTERS; i++) *--top = NULL;
    state->stack_pointer = top;
}

static void prepare_warp(int index) {
    Warp *warp = &warps[index];
    int start = index * launch.warp_size;
    *warp = (Warp){.index = index, .size = launch.warp_size};
    warp->count = lane_count - start < launch.warp_size ? lane_count - start : launch.warp_size;
    for (int i = 0; i < warp->count; i++) warp->lanes[i] = &lanes[start + i];
}

static uint64_t next_random(uint64_t *state) {   /* xorshift64, Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void arrange(int *order, int count, uint64_t kind, uint64_t *random) {
    for (int i = 0; i < count; i++) order[i] = kind == 1 ? count - 1 - i : i;
    if (kind < 2) return;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(next_random(random) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Run the lanes of a warp until each of them waits or has returned; what one does may let others go on. */
static void run_lanes(Warp *warp) {
    running_warp = warp;
    for (;;) {
        running_place = -1;
        Lane *lane = next_runnable();
        if (!lane) return;
        current_lane = lane;
        switch_stack(&scheduler_stack_pointer, lane->state->stack_pointer);
    }
}

/* Execute the first warp-wide operation that lanes of the warp wait for; returns whether there is one. */
static int run_collective(Warp *warp) {
    const Lane *first = NULL;
    warp->active = warp->live = 0;
    for (int i = 0; i < warp->count; i++) {
        const Lane *lane = warp->lanes[i];
        if (lane->state->status != LANE_RETURNED) warp->live |= 1ull << i;
        if (lane->state->status == LANE_AT_COLLECTIVE && (!first || lane->site < first->site)) first = lane;
    }
    if (!first) return 0;
    for (int i = 0; i < warp->count; i++) {
        const Lane *lane = warp->lanes[i];
        if (lane->state->status == LANE_AT_COLLECTIVE && lane->site == first->site) warp->active |= 1ull << i;
    }
    outcome->collectives++;
    current_lane = (Lane *)first;
    first->state->collective(warp);
    meet(warp);
    for (int i = 0; i < warp->count; i++)
        if (warp->active >> i & 1) warp->lanes[i]->state->status = LANE_RUNNABLE;
    return 1;
}

static int has_lane(LaneStatus status) {
    for (int i = 0; i < lane_count; i++)
        if (states[i].status == status) return 1;
    return 0;
}

void run_workgroup(const Kernel *kernel, void **arguments, uint64_t order) {
    kernel_entry = kernel->entry;
    kernel_arguments = arguments;
    uint64_t random = order * 0x9E3779B97F4A7C15ull + 1;
    arrange(warp_order, warp_count, order, &random);
    arrange(lane_order, launch.warp_size, order, &random);
    for (int i = 0; i < warp_count; i++) prepare_warp(i);
    for (int i = 0; i < lane_count; i++) prepare_lane(i);
    reset_clocks();
    reset_barriers();
    poison_shared_memory();
    while (has_lane(LANE_RUNNABLE)) {
        for (int i = 0; i < warp_count; i++) {
            Warp *warp = &warps[warp_order[i]];
            do run_lanes(warp);
            while (run_collective(warp));
        }
        if (!has_lane(LANE_RUNNABLE)) report_stuck_barriers();
    }
    finish_copies();
}

void emulator_call_lane(void (*model)(void), char *arguments, char *result, int32_t site) {
    current_lane->site = site;
    current_lane->arguments = arguments;
    current_lane->result = result;
    ((LaneModel)model)(current_lane, arguments, result);
}

void emulator_call_collective(void (*model)(void), char *arguments, char *result, int32_t site) {
    current_lane->site = site;
    current_lane->arguments = arguments;
    current_lane->result = result;
    current_lane->state->collective = (CollectiveModel)model;
    current_lane->state->status = LANE_AT_COLLECTIVE;
    suspend();
}
