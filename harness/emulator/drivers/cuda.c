/* A stand-in for libcuda.so: as much of the CUDA driver API as IREE's `cuda` driver and this harness's device
 * executor ask for, on the emulator.
 *
 * Everything is done when its call returns, so that streams and contexts are empty names, and an event is a
 * moment of the host's clock.  A graph is a list of launches and fills.  What is not here (memory pools) can be
 * looked up, and fails when it is called.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

typedef int Device;
typedef uint64_t Address;

#define DRIVER_VERSION 12040
/* CUfunction_attribute */
typedef enum FunctionAttribute {
    LOCAL_BYTES = 3,
    REGISTERS = 4,
    MAXIMUM_DYNAMIC_SHARED = 8,
} FunctionAttribute;

#define EMULATED_REGISTERS 255   /* that a kernel is said to have: machine code is not looked into */
#define EMULATED_CLOCK_KHZ 1980000
#define EMULATED_MEMORY_CLOCK_KHZ 2619000
#define EMULATED_BUS_BITS 5120
#define EMULATED_MEMORY_BYTES ((size_t)1 << 30)

/* CUdevice_attribute */
typedef enum Attribute {
    MAXIMUM_THREADS_PER_BLOCK = 1,
    MAXIMUM_BLOCK_X = 2,
    MAXIMUM_BLOCK_Y = 3,
    MAXIMUM_BLOCK_Z = 4,
    MAXIMUM_GRID_X = 5,
    MAXIMUM_GRID_Y = 6,
    MAXIMUM_GRID_Z = 7,
    MAXIMUM_SHARED_PER_BLOCK = 8,
    WARP_SIZE = 10,
    CLOCK_KHZ = 13,
    MULTIPROCESSOR_COUNT = 16,
    ECC = 32,
    MEMORY_CLOCK_KHZ = 36,
    MEMORY_BUS_BITS = 37,
    L2_CACHE_BYTES = 38,
    UNIFIED_ADDRESSING = 41,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    CONCURRENT_MANAGED_ACCESS = 89,
    MAXIMUM_SHARED_PER_BLOCK_OPT_IN = 97,
    READ_ONLY_HOST_REGISTER = 113,
    MEMORY_POOLS = 115,
} Attribute;

static int grid_limit(int dimension) { return dimension == 0 ? 2147483647 : 65535; }

static void *pointer(Address address) { return (void *)(uintptr_t)address; }

/* ------------------------------------------------------------------ device */

static int driver_version(int *version) {
    *version = DRIVER_VERSION;
    return SUCCESS;
}

static int device_count(int *count) {
    *count = 1;
    return SUCCESS;
}

static int device_get(Device *device, int number) {
    *device = number;
    return number == 0 ? SUCCESS : fail(INVALID_VALUE, "there is one device, number 0");
}

static int device_name(char *name, int capacity, Device device) {
    (void)device;
    snprintf(name, (size_t)capacity, "emulated %s", chip()->name);
    return SUCCESS;
}

static int device_bus(char *bus, int capacity, Device device) {
    (void)device;
    snprintf(bus, (size_t)capacity, "emulated");
    return SUCCESS;
}

static int device_uuid(unsigned char *uuid, Device device) {
    (void)device;
    identify_device(uuid);
    return SUCCESS;
}

static int device_attribute(int *value, int attribute, Device device) {
    (void)device;
    log_call("device attribute %d", attribute);
    int capability = atoi(chip()->name + strlen("sm_"));
    switch ((Attribute)attribute) {
        case MAXIMUM_THREADS_PER_BLOCK:
        case MAXIMUM_BLOCK_X:
        case MAXIMUM_BLOCK_Y: *value = 1024; break;
        case MAXIMUM_BLOCK_Z: *value = 64; break;
        case MAXIMUM_GRID_X: *value = grid_limit(0); break;
        case MAXIMUM_GRID_Y: *value = grid_limit(1); break;
        case MAXIMUM_GRID_Z: *value = grid_limit(2); break;
        case MAXIMUM_SHARED_PER_BLOCK: *value = chip()->default_shared_bytes; break;
        case MAXIMUM_SHARED_PER_BLOCK_OPT_IN: *value = chip()->shared_bytes; break;
        case WARP_SIZE: *value = chip()->warp_size; break;
        case MULTIPROCESSOR_COUNT: *value = chip()->multiprocessors; break;
        case CLOCK_KHZ: *value = EMULATED_CLOCK_KHZ; break;
        case ECC: *value = 1; break;
        case MEMORY_CLOCK_KHZ: *value = EMULATED_MEMORY_CLOCK_KHZ; break;
        case MEMORY_BUS_BITS: *value = EMULATED_BUS_BITS; break;
        case L2_CACHE_BYTES: *value = EMULATED_L2_BYTES; break;
        case UNIFIED_ADDRESSING: *value = 1; break;
        case COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
        case COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
        case CONCURRENT_MANAGED_ACCESS:
        case READ_ONLY_HOST_REGISTER:
        case MEMORY_POOLS: *value = 0; break;   /* every buffer is an allocation of its own */
        default: return fail(INVALID_VALUE, "device attribute %d is not known", attribute);
    }
    return SUCCESS;
}

static int device_memory(size_t *bytes, Device device) {
    (void)device;
    *bytes = EMULATED_MEMORY_BYTES;
    return SUCCESS;
}

static int new_handle(void **handle) {
    *handle = any_handle();
    return SUCCESS;
}

static _Thread_local int current_contexts;   /* each thread has a stack of them */

static int set_context(void *context) {
    current_contexts += (context != NULL) - (current_contexts > 0);
    return SUCCESS;
}

static int push_context(void *context) {
    (void)context;
    current_contexts++;
    return SUCCESS;
}

static int pop_context(void **context) {
    if (current_contexts == 0) return fail(INVALID_CONTEXT, "no context is current");
    if (context) *context = any_handle();
    current_contexts--;
    return SUCCESS;
}

static Status require_context(void) {
    return current_contexts > 0 ? SUCCESS : fail(INVALID_CONTEXT, "no context is current in this thread");
}

static int call_on_host(void *stream, void (*function)(void *), void *data) {
    (void)stream;
    function(data);
    return SUCCESS;
}

/* ------------------------------------------------------------------ events */

static int event_create(Event **event, unsigned flags) { return (void)flags, create_event(event); }
static int event_destroy(Event *event) { return destroy_event(event); }
static int event_record(Event *event, void *stream) { return (void)stream, record_event(event); }

static int event_elapsed(float *milliseconds, const Event *start, const Event *end) {
    *milliseconds = milliseconds_between(start, end);
    return SUCCESS;
}

/* ------------------------------------------------------------------ graphs */

typedef struct Node {
    struct Node *next;
    const Kernel *kernel;   /* NULL: a fill */
    uint32_t grid[3], block[3], shared_bytes;
    void **arguments;       /* addresses of the copies behind the node */
    Address destination;
    unsigned char value;
    size_t count;
} Node;

typedef struct Graph {
    Node *first, **end;
} Graph;

static _Thread_local Graph *capturing;   /* what this thread enqueues goes there */

static int begin_capture(void *stream, int mode) {
    (void)mode;
    if (!stream) return fail(NOT_SUPPORTED, "the default stream cannot be captured");
    if (capturing) return fail(INVALID_VALUE, "a stream is being captured already");
    capturing = calloc(1, sizeof *capturing);
    if (!capturing) return fail(OUT_OF_MEMORY, "no memory for a graph");
    capturing->end = &capturing->first;
    return SUCCESS;
}

static int end_capture(void *stream, Graph **graph) {
    (void)stream;
    *graph = capturing;
    capturing = NULL;
    return *graph ? SUCCESS : fail(INVALID_VALUE, "no stream is being captured");
}

static Node *append_node(size_t more_bytes) {
    Node *node = calloc(1, sizeof *node + more_bytes);
    if (node) *capturing->end = node, capturing->end = &node->next;
    return node;
}

static int capture_fill(Address destination, unsigned char value, size_t count) {
    Node *node = append_node(0);
    if (!node) return fail(OUT_OF_MEMORY, "no memory for a graph's node");
    node->destination = destination, node->value = value, node->count = count;
    return SUCCESS;
}

static int capture_launch(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                          uint32_t shared_bytes, void **arguments) {
    size_t slots = (size_t)kernel->argument_count, bytes = 0;
    for (size_t i = 0; i < slots; i++) bytes += ((size_t)kernel->argument_bytes[i] + 15) & ~(size_t)15;
    Node *node = append_node(slots * sizeof(void *) + 16 + bytes);
    if (!node) return fail(OUT_OF_MEMORY, "no memory for a graph's node");
    node->kernel = kernel, node->shared_bytes = shared_bytes;
    memcpy(node->grid, grid, sizeof node->grid);
    memcpy(node->block, block, sizeof node->block);
    node->arguments = (void **)(node + 1);
    char *copy = (char *)(((uintptr_t)(node->arguments + slots) + 15) & ~(uintptr_t)15);
    for (size_t i = 0; i < slots; i++) {
        memcpy(copy, arguments[i], (size_t)kernel->argument_bytes[i]);
        node->arguments[i] = copy;
        copy += ((size_t)kernel->argument_bytes[i] + 15) & ~(size_t)15;
    }
    return SUCCESS;
}

/* A graph and its executable form are one; whoever destroys the first keeps the second. */
static int instantiate_graph(Graph **executable, Graph *graph, uint64_t flags) {
    (void)flags;
    *executable = graph;
    return SUCCESS;
}

static int launch_graph(const Graph *graph, void *stream) {
    (void)stream;
    int status = SUCCESS;
    for (const Node *node = graph->first; node && status == SUCCESS; node = node->next) {
        if (node->kernel)
            status = launch_kernel(node->kernel, node->grid, node->block, node->shared_bytes, node->arguments);
        else
            fill(pointer(node->destination), &node->value, sizeof node->value, node->count);
    }
    return status;
}

static int destroy_graph(Graph *graph) {
    for (Node *node = graph->first, *next; node; node = next) next = node->next, free(node);
    free(graph);
    return SUCCESS;
}

/* ------------------------------------------------------------------ memory */

static int memory_allocate(Address *address, size_t bytes) {
    void *memory = NULL;
    Status status = require_context();
    if (status == SUCCESS) status = allocate(bytes, &memory);
    *address = (Address)(uintptr_t)memory;
    return status;
}

static int memory_free(Address address) { return release(pointer(address)); }

static int host_allocate(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate_host(bytes, memory);
}

static int host_free(void *memory) { return release_host(memory); }

static int host_device_pointer(Address *address, void *memory, unsigned flags) {
    (void)flags;
    *address = (Address)(uintptr_t)memory;
    return SUCCESS;
}

static int copy(Address destination, Address source, size_t bytes, void *stream) {
    (void)stream;
    memcpy(pointer(destination), pointer(source), bytes);
    return SUCCESS;
}

static int copy_from_host(Address destination, const void *source, size_t bytes, void *stream) {
    (void)stream;
    memcpy(pointer(destination), source, bytes);
    return SUCCESS;
}

static int copy_from_host_now(Address destination, const void *source, size_t bytes) {
    return copy_from_host(destination, source, bytes, NULL);
}

static int copy_to_host_now(void *destination, Address source, size_t bytes) {
    memcpy(destination, pointer(source), bytes);
    return SUCCESS;
}

static int fill_bytes(Address destination, unsigned char value, size_t count, void *stream) {
    if (capturing) return capture_fill(destination, value, count);
    (void)stream;
    fill(pointer(destination), &value, sizeof value, count);
    return SUCCESS;
}

static int fill_halves(Address destination, unsigned short value, size_t count, void *stream) {
    (void)stream;
    fill(pointer(destination), &value, sizeof value, count);
    return SUCCESS;
}

static int fill_words(Address destination, unsigned value, size_t count, void *stream) {
    (void)stream;
    fill(pointer(destination), &value, sizeof value, count);
    return SUCCESS;
}

/* ------------------------------------------------------------------ kernels */

static int module_load(Module **module, const void *image, unsigned option_count, int *options, void **values) {
    (void)option_count, (void)options, (void)values;
    return require_context() == SUCCESS ? load_module(image, module) : INVALID_CONTEXT;
}

static int module_load_data(Module **module, const void *image) { return module_load(module, image, 0, NULL, NULL); }

static int module_unload(Module *module) { return unload_module(module); }

static int module_function(const Kernel **kernel, const Module *module, const char *name) {
    return find_kernel(module, name, kernel);
}

static int function_attribute(int *value, int attribute, const Kernel *kernel) {
    switch ((FunctionAttribute)attribute) {
        case REGISTERS: *value = EMULATED_REGISTERS; break;
        case LOCAL_BYTES: *value = 0; break;
        default: return fail(NOT_SUPPORTED, "%s: function attribute %d", kernel->name, attribute);
    }
    return SUCCESS;
}

static int set_function_attribute(const Kernel *kernel, int attribute, int value) {
    if (attribute != MAXIMUM_DYNAMIC_SHARED) return fail(NOT_SUPPORTED, "function attribute %d", attribute);
    if (value <= chip()->shared_bytes) return SUCCESS;
    return fail(INVALID_VALUE, "%s: %d bytes of shared memory; %s has %d", kernel->name, value, chip()->name,
                chip()->shared_bytes);
}

static int launch_function(const Kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                           void **arguments, void **packed) {
    (void)stream;
    if (require_context() != SUCCESS) return INVALID_CONTEXT;
    if (!arguments || packed) return fail(NOT_SUPPORTED, "packed arguments");
    uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || grid[i] > (unsigned)grid_limit(i))
            return fail(INVALID_VALUE, "%s: a grid of %u, %u, %u workgroups", kernel->name, grid_x, grid_y, grid_z);
    if (capturing) return capture_launch(kernel, grid, block, shared_bytes, arguments);
    return launch_kernel(kernel, grid, block, shared_bytes, arguments);
}

/* ------------------------------------------------------------------ errors and lookup */

static int error_name(int error, const char **name) {
    *name = name_of((Status)error);
    return SUCCESS;
}

static int error_text(int error, const char **text) {
    *text = reason_of((Status)error);
    return SUCCESS;
}

static int nothing(void) { return SUCCESS; }

static int unsupported(void) { return fail(NOT_SUPPORTED, "the emulator's CUDA driver has no such function"); }

EXPORT int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);

typedef struct Entry {
    const char *name;
    void (*function)(void);
} Entry;

#define ENTRY(name, function) {name, (void (*)(void))function}

static const Entry entries[] = {
    ENTRY("cuGetProcAddress", cuGetProcAddress),
    ENTRY("cuGetErrorName", error_name),
    ENTRY("cuGetErrorString", error_text),
    ENTRY("cuInit", nothing),
    ENTRY("cuDriverGetVersion", driver_version),
    ENTRY("cuDeviceGet", device_get),
    ENTRY("cuDeviceGetCount", device_count),
    ENTRY("cuDeviceGetName", device_name),
    ENTRY("cuDeviceGetPCIBusId", device_bus),
    ENTRY("cuDeviceGetUuid", device_uuid),
    ENTRY("cuDeviceGetAttribute", device_attribute),
    ENTRY("cuDevicePrimaryCtxRetain", new_handle),
    ENTRY("cuDevicePrimaryCtxRelease", nothing),
    ENTRY("cuCtxSetCurrent", set_context),
    ENTRY("cuCtxSynchronize", require_context),
    ENTRY("cuCtxPushCurrent", push_context),
    ENTRY("cuCtxPopCurrent", pop_context),
    ENTRY("cuStreamCreate", new_handle),
    ENTRY("cuStreamDestroy", nothing),
    ENTRY("cuStreamSynchronize", nothing),
    ENTRY("cuStreamWaitEvent", nothing),
    ENTRY("cuEventCreate", event_create),
    ENTRY("cuEventDestroy", event_destroy),
    ENTRY("cuEventElapsedTime", event_elapsed),
    ENTRY("cuEventQuery", nothing),
    ENTRY("cuEventRecord", event_record),
    ENTRY("cuEventSynchronize", nothing),
    ENTRY("cuLaunchHostFunc", call_on_host),
    ENTRY("cuStreamBeginCapture", begin_capture),
    ENTRY("cuStreamEndCapture", end_capture),
    ENTRY("cuGraphInstantiateWithFlags", instantiate_graph),
    ENTRY("cuGraphInstantiate", instantiate_graph),
    ENTRY("cuGraphLaunch", launch_graph),
    ENTRY("cuGraphDestroy", nothing),
    ENTRY("cuGraphExecDestroy", destroy_graph),
    ENTRY("cuMemAlloc", memory_allocate),
    ENTRY("cuMemFree", memory_free),
    ENTRY("cuMemHostAlloc", host_allocate),
    ENTRY("cuMemFreeHost", host_free),
    ENTRY("cuMemHostGetDevicePointer", host_device_pointer),
    /* For copies only: registered memory is not the device's, so that a kernel that uses it is found. */
    ENTRY("cuMemHostRegister", nothing),
    ENTRY("cuMemHostUnregister", nothing),
    ENTRY("cuMemcpyAsync", copy),
    ENTRY("cuMemcpyDtoDAsync", copy),
    ENTRY("cuMemcpyHtoDAsync", copy_from_host),
    ENTRY("cuMemcpyHtoD", copy_from_host_now),
    ENTRY("cuMemcpyDtoH", copy_to_host_now),
    ENTRY("cuMemsetD8Async", fill_bytes),
    ENTRY("cuMemsetD16Async", fill_halves),
    ENTRY("cuMemsetD32Async", fill_words),
    ENTRY("cuModuleLoadData", module_load_data),
    ENTRY("cuModuleLoadDataEx", module_load),
    ENTRY("cuModuleUnload", module_unload),
    ENTRY("cuModuleGetFunction", module_function),
    ENTRY("cuFuncGetAttribute", function_attribute),
    ENTRY("cuFuncSetAttribute", set_function_attribute),
    ENTRY("cuLaunchKernel", launch_function),
};

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    (void)version, (void)flags;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (strcmp(entries[i].name, name) != 0) continue;
        memcpy(function, &entries[i].function, sizeof *function);
        return SUCCESS;
    }
    log_call("%s is not there", name);
    void (*missing)(void) = (void (*)(void))unsupported;
    memcpy(function, &missing, sizeof *function);
    return SUCCESS;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found) {
    if (found) *found = 0;
    return cuGetProcAddress(name, function, version, flags);
}

/* Whoever only asks which devices there are calls these by their names. */
#define NAMED(name, parameters, function) EXPORT int name parameters __attribute__((alias(#function)))

NAMED(cuInit, (), nothing);
NAMED(cuDeviceGetCount, (int *count), device_count);
NAMED(cuDeviceGet, (Device *device, int number), device_get);
NAMED(cuDeviceGetName, (char *name, int capacity, Device device), device_name);
NAMED(cuDeviceGetAttribute, (int *value, int attribute, Device device), device_attribute);
NAMED(cuDeviceTotalMem_v2, (size_t *bytes, Device device), device_memory);
