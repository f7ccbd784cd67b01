/* A launch: all workgroups of a grid, over several processes, in one or more orders of lanes and warps. */
#define _GNU_SOURCE   /* for a lock that may be taken again */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#define MAXIMUM_RANGES 256

size_t writable_buffers(MemoryRange *ranges, size_t capacity);

static char implicit_arguments[256];
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void emulator_lock(void) { pthread_mutex_lock(&lock); }

void emulator_unlock(void) { pthread_mutex_unlock(&lock); }

/* The hidden arguments of AMD's kernels that name the launch's geometry.
 * LLVM's "User Guide for AMDGPU Backend", code object V5 hidden arguments. */
static void fill_implicit_arguments(const uint32_t grid[3], const uint32_t block[3]) {
    memset(implicit_arguments, 0, sizeof implicit_arguments);
    for (int i = 0; i < 3; i++) {
        uint16_t size = (uint16_t)block[i];
        memcpy(implicit_arguments + 4 * i, &grid[i], 4);
        memcpy(implicit_arguments + 12 + 2 * i, &size, 2);
    }
    launch.implicit_arguments = implicit_arguments;
}

static void run_share(const Kernel *kernel, void **arguments, uint64_t order, uint64_t first, uint64_t step) {
    uint64_t total = (uint64_t)launch.grid[0] * launch.grid[1] * launch.grid[2];
    for (uint64_t i = first; i < total; i += step) {
        launch.workgroup[0] = (uint32_t)(i % launch.grid[0]);
        launch.workgroup[1] = (uint32_t)(i / launch.grid[0] % launch.grid[1]);
        launch.workgroup[2] = (uint32_t)(i / launch.grid[0] / launch.grid[1]);
        run_workgroup(kernel, arguments, order);
        outcome->workgroups++;
    }
}

static void add_outcome(LaunchOutcome *total, const LaunchOutcome *part) {
    total->workgroups += part->workgroups;
    total->collectives += part->collectives;
    total->accesses += part->accesses;
    for (int i = 0; i < 4; i++) total->clamped[i] += part->clamped[i];
    for (int i = 0; i < part->finding_count; i++) {
        const Finding *finding = &part->findings[i];
        Finding *place = count_finding(total, finding->kind, finding->site, finding->count);
        if (place) *place = *finding;
    }
    if (!total->signal) total->signal = part->signal;
}

/* Let signals end this process, whatever its parent does about them. */
static void forget_signal_handlers(void) {
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGSEGV, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
}

static void run_in_processes(const Kernel *kernel, void **arguments, const LaunchOptions *options, uint64_t order,
                             LaunchOutcome *parts) {
    pid_t children[MAXIMUM_PROCESSES], parent = getpid();
    for (int i = 0; i < options->processes; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(1);   /* it ended before this process asked to be told */
            forget_signal_handlers();
            open_findings(&parts[i], options->checks_within_warps);
            run_share(kernel, arguments, order, (uint64_t)i, (uint64_t)options->processes);
            _exit(0);
        }
        if (children[i] < 0) parts[i].signal = SIGABRT;
    }
    for (int i = 0; i < options->processes; i++) {
        int status = 0;
        if (children[i] < 0) continue;
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) continue;
        if (WIFSIGNALED(status)) parts[i].signal = WTERMSIG(status);
    }
}

static void run_order(const Kernel *kernel, void **arguments, const LaunchOptions *options, uint64_t order,
                      LaunchOutcome *total) {
    if (options->processes <= 1) {
        open_findings(total, options->checks_within_warps);
        run_share(kernel, arguments, order, 0, 1);
        return;
    }
    size_t bytes = sizeof(LaunchOutcome) * (size_t)options->processes;
    LaunchOutcome *parts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (parts == MAP_FAILED) abort();
    run_in_processes(kernel, arguments, options, order, parts);
    for (int i = 0; i < options->processes; i++) add_outcome(total, &parts[i]);
    munmap(parts, bytes);
}

static char *copy_of(const MemoryRange *ranges, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += ranges[i].bytes;
    char *copy = malloc(bytes ? bytes : 1), *end = copy;
    if (!copy) abort();
    for (size_t i = 0; i < count; i++) {
        memcpy(end, (void *)(uintptr_t)ranges[i].start, ranges[i].bytes);
        end += ranges[i].bytes;
    }
    return copy;
}

static void restore(const MemoryRange *ranges, size_t count, const char *copy) {
    for (size_t i = 0; i < count; i++) {
        memcpy((void *)(uintptr_t)ranges[i].start, copy, ranges[i].bytes);
        copy += ranges[i].bytes;
    }
}

static void compare(const MemoryRange *ranges, size_t count, const char *expected, LaunchOutcome *total) {
    for (size_t i = 0; i < count; i++) {
        const char *found = (const char *)(uintptr_t)ranges[i].start;
        for (uint64_t k = 0; k < ranges[i].bytes && !total->differs; k++) {
            if (found[k] == expected[k]) continue;
            total->differs = 1;
            total->differing_address = (uint64_t)(uintptr_t)(found + k);
        }
        expected += ranges[i].bytes;
    }
}

/* Run once in each order, from the same state of memory, and compare what is left in memory. */
static void run_orders(const Kernel *kernel, void **arguments, const LaunchOptions *options, LaunchOutcome *total) {
    MemoryRange ranges[MAXIMUM_RANGES];
    size_t count = writable_buffers(ranges, MAXIMUM_RANGES);
    char *before = options->order_count > 1 ? copy_of(ranges, count) : NULL;
    run_order(kernel, arguments, options, options->order_count ? options->orders[0] : 0, total);
    char *expected = options->order_count > 1 ? copy_of(ranges, count) : NULL;
    for (int i = 1; i < options->order_count; i++) {
        restore(ranges, count, before);
        run_order(kernel, arguments, options, options->orders[i], total);
        compare(ranges, count, expected, total);
    }
    free(before);
    free(expected);
}

static int refuse(LaunchOutcome *total, const char *reason) {
    open_findings(total, 0);
    report(FINDING_UNSUPPORTED_OPERAND, NULL, "%s", reason);
    return -1;
}

static int run_launch(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                      uint32_t dynamic_shared_bytes, void **arguments, const LaunchOptions *options,
                      LaunchOutcome *total) {
    memset(total, 0, sizeof *total);
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads == 0 || threads > MAXIMUM_LANES) return refuse(total, "a workgroup has 1 to 1024 threads");
    if (options->processes > MAXIMUM_PROCESSES) return refuse(total, "a launch has up to 16 processes");
    if (shared_memory_bytes(kernel, dynamic_shared_bytes) > SHARED_CAPACITY)
        return refuse(total, "more than 1 MiB of shared memory");
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    launch.warp_size = kernel->warp_size;
    lane_count = (int)threads;
    warp_count = (lane_count + kernel->warp_size - 1) / kernel->warp_size;
    fill_implicit_arguments(grid, block);
    prepare_stacks();
    prepare_shared_memory(kernel, dynamic_shared_bytes, options->checks_within_warps);
    run_orders(kernel, arguments, options, total);
    return 0;
}

int emulator_launch(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                    uint32_t dynamic_shared_bytes, void **arguments, const LaunchOptions *options,
                    LaunchOutcome *total) {
    emulator_lock();
    int done = run_launch(kernel, grid, block, dynamic_shared_bytes, arguments, options, total);
    emulator_unlock();
    return done;
}
