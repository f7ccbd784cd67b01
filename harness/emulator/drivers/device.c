/* The device of the stub drivers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"

#define REASON_BYTES 512

struct Module {
    size_t kernel_count;
    const Kernel *kernels[];
};

typedef struct HostMemory {
    char *start;
    size_t bytes;
    int is_registered;   /* with the emulator */
    struct HostMemory *next;
} HostMemory;

/* NVIDIA: "CUDA C++ Programming Guide", table of technical specifications per compute capability.  AMD: workgroup
 * memory of the "User Guide for AMDGPU Backend"; compute units of the largest product.  Intel: "oneAPI GPU Optimization
 * Guide", "Xe GPU Architecture"; Xe-cores of the largest product. */
static const Chip chips[] = {
    {"sm_80", 32, 108, 163 * 1024, 48 * 1024},
    {"sm_86", 32, 84, 99 * 1024, 48 * 1024},
    {"sm_89", 32, 128, 99 * 1024, 48 * 1024},
    {"sm_90", 32, 132, 227 * 1024, 48 * 1024},
    {"sm_90a", 32, 132, 227 * 1024, 48 * 1024},
    {"sm_100", 32, 148, 227 * 1024, 48 * 1024},
    {"sm_120", 32, 170, 99 * 1024, 48 * 1024},
    {"gfx90a", 64, 104, 64 * 1024, 64 * 1024},
    {"gfx942", 64, 304, 64 * 1024, 64 * 1024},
    {"gfx950", 64, 256, 160 * 1024, 160 * 1024},
    {"gfx1100", 32, 96, 64 * 1024, 64 * 1024},
    {"gfx1201", 32, 64, 64 * 1024, 64 * 1024},
    {"bmg", 16, 20, 128 * 1024, 128 * 1024},
    {"pvc", 16, 128, 128 * 1024, 128 * 1024},
};

static const Chip *selected;
static int allocation_count;
static HostMemory *host_memory;
static _Thread_local char last_reason[REASON_BYTES];
static char first_failure[REASON_BYTES];   /* on any thread */

const Chip *chip(void) {
    const char *asked = selected ? NULL : getenv("HARNESS_STUB_CHIP");
    if (asked) stub_select_chip(asked);
    return selected;
}

const char *stub_first_failure(void) { return first_failure; }

int stub_select_chip(const char *name) {
    first_failure[0] = 0;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        if (strcmp(chips[i].name, name) != 0) continue;
        selected = &chips[i];
        return 0;
    }
    return -1;
}

void *any_handle(void) {
    static char handle;
    return &handle;
}

Status create_event(Event **event) {
    *event = calloc(1, sizeof **event);
    return *event ? SUCCESS : fail(OUT_OF_MEMORY, "no memory for an event");
}

Status destroy_event(Event *event) {
    free(event);
    return SUCCESS;
}

Status record_event(Event *event) {
    clock_gettime(CLOCK_MONOTONIC, event);
    return SUCCESS;
}

float milliseconds_between(const Event *start, const Event *end) {
    double seconds = (double)(end->tv_sec - start->tv_sec), nanoseconds = (double)(end->tv_nsec - start->tv_nsec);
    return (float)(seconds * 1e3 + nanoseconds * 1e-6);
}

void identify_device(unsigned char uuid[16]) { memcpy(uuid, "harness-emulator", 16); }

Status allocate(size_t bytes, void **address) {
    char name[40];
    emulator_lock();
    snprintf(name, sizeof name, "buffer %d", ++allocation_count);
    int has_room = emulator_has_room();
    *address = emulator_allocate(bytes, name, 1);
    emulator_unlock();
    log_call("%s: %zu bytes at %p", name, bytes, *address);
    if (!has_room) return fail(OUT_OF_MEMORY, "%s: the emulator has no room for more buffers", name);
    return *address ? SUCCESS : fail(OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
}

Status release(void *address) {
    log_call("release %p", address);
    emulator_lock();
    emulator_free(address);
    emulator_unlock();
    return SUCCESS;
}

/* Shared between processes, as all memory of the emulator is; registered when a kernel is given it. */
Status allocate_host(size_t bytes, void **memory) {
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (*memory == MAP_FAILED) return fail(OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    HostMemory *entry = malloc(sizeof *entry);
    if (!entry) return fail(OUT_OF_MEMORY, "no memory for %zu bytes", sizeof *entry);
    log_call("host memory: %zu bytes at %p", bytes, *memory);
    emulator_lock();
    *entry = (HostMemory){.start = *memory, .bytes = bytes, .next = host_memory};
    host_memory = entry;
    emulator_unlock();
    return SUCCESS;
}

static HostMemory *unlink_host_memory(const char *start) {
    for (HostMemory **entry = &host_memory; *entry; entry = &(*entry)->next) {
        HostMemory *found = *entry;
        if (found->start != start) continue;
        *entry = found->next;
        return found;
    }
    return NULL;
}

Status release_host(void *memory) {
    emulator_lock();
    HostMemory *entry = unlink_host_memory(memory);
    if (entry && entry->is_registered) emulator_unregister(memory);
    emulator_unlock();
    if (!entry) return fail(INVALID_VALUE, "%p is not host memory", memory);
    munmap(memory, entry->bytes);
    free(entry);
    return SUCCESS;
}

static Status register_host_memory(const Kernel *kernel, void **arguments) {
    for (int32_t i = 0; i < kernel->argument_count; i++) {
        if (kernel->argument_bytes[i] != sizeof(char *)) continue;
        const char *address = *(char **)arguments[i];
        for (HostMemory *entry = host_memory; entry; entry = entry->next) {
            if (entry->is_registered || address < entry->start || address >= entry->start + entry->bytes) continue;
            if (emulator_register(entry->start, entry->bytes, "host memory", 1)) return OUT_OF_MEMORY;
            entry->is_registered = 1;
        }
    }
    return SUCCESS;
}

void fill(void *destination, const void *pattern, size_t pattern_bytes, size_t count) {
    char *end = destination;
    for (size_t i = 0; i < count; i++, end += pattern_bytes) memcpy(end, pattern, pattern_bytes);
}

Status load_module(const void *image, Module **module) {
    const RegisteredImage *known = emulator_find_image(image);
    if (!known)
        return fail(INVALID_IMAGE, "the emulator has no kernels for this image: it is none of the %zu registered ones",
                    emulator_image_count());
    *module = malloc(sizeof **module + known->kernel_count * sizeof(const Kernel *));
    if (!*module) return fail(OUT_OF_MEMORY, "no memory for a module");
    (*module)->kernel_count = known->kernel_count;
    memcpy((*module)->kernels, known->kernels, known->kernel_count * sizeof(const Kernel *));
    log_call("module: %zu bytes, %zu kernels", known->size, known->kernel_count);
    return SUCCESS;
}

Status unload_module(Module *module) {
    free(module);
    return SUCCESS;
}

Status find_kernel(const Module *module, const char *name, const Kernel **kernel) {
    for (size_t i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i]->name, name) != 0) continue;
        *kernel = module->kernels[i];
        return SUCCESS;
    }
    return fail(NOT_FOUND, "the emulator has no kernel %s in this image", name);
}

int static_shared_bytes(const Kernel *kernel) {
    uint64_t total = 0;
    for (int32_t i = 0; i < kernel->shared_array_count; i++) total += kernel->shared_arrays[i].bytes;
    return (int)total;
}

Status launch_kernel(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_bytes,
                     void **arguments) {
    log_call("launch %s: grid %u %u %u, block %u %u %u, %u bytes of dynamic shared memory", kernel->name, grid[0],
             grid[1], grid[2], block[0], block[1], block[2], dynamic_bytes);
    int64_t shared = (int64_t)static_shared_bytes(kernel) + dynamic_bytes;
    if (shared > selected->shared_bytes)
        return fail(INVALID_VALUE, "%s: %lld bytes of shared memory; %s has %d", kernel->name, (long long)shared,
                    selected->name, selected->shared_bytes);
    emulator_lock();
    Status registered = register_host_memory(kernel, arguments);
    const LaunchRecord *record =
        registered ? NULL : emulator_launch_recorded(kernel, grid, block, dynamic_bytes, arguments);
    emulator_unlock();
    if (registered) return fail(registered, "%s: the emulator has no room for more buffers", kernel->name);
    if (!record) return fail(OUT_OF_MEMORY, "no memory for a launch's outcome");
    if (record->refused)
        return fail(INVALID_VALUE, "%s: %s", kernel->name, record->outcome.findings[0].message);
    if (record->outcome.signal)
        return fail(LAUNCH_FAILED, "%s: ended by signal %d", kernel->name, record->outcome.signal);
    return SUCCESS;
}

Status fail(Status status, const char *reason, ...) {
    va_list values;
    va_start(values, reason);
    vsnprintf(last_reason, sizeof last_reason, reason, values);
    va_end(values);
    emulator_lock();
    if (!first_failure[0]) memcpy(first_failure, last_reason, sizeof first_failure);
    emulator_unlock();
    log_call("error %d: %s", (int)status, last_reason);
    return status;
}

const char *name_of(Status status) {
    switch (status) {
        case SUCCESS: return "success";
        case INVALID_VALUE: return "invalid value";
        case OUT_OF_MEMORY: return "out of memory";
        case INVALID_IMAGE: return "invalid image";
        case INVALID_CONTEXT: return "invalid context";
        case NOT_FOUND: return "not found";
        case LAUNCH_FAILED: return "launch failed";
        case NOT_SUPPORTED: return "not supported";
    }
    return "unknown error";
}

const char *reason_of(Status status) { return status == SUCCESS ? "" : last_reason; }

void log_call(const char *format, ...) {
    if (!getenv("HARNESS_EMULATOR_LOG")) return;
    va_list values;
    va_start(values, format);
    fputs("emulator: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}
