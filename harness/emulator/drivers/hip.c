/* A stand-in for libamdhip64.so: as much of the HIP runtime API as IREE's `hip` driver and this harness's device
 * executor ask for, on the emulator.
 *
 * Everything is done when its call returns, so that streams and contexts are empty names, and an event is a
 * moment of the host's clock.  What is not here (graphs, memory pools) can be looked up, and fails when it is
 * called.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

/* hipDeviceAttribute_t */
typedef enum Attribute {
    CONCURRENT_MANAGED_ACCESS = 9,
    L2_CACHE_BYTES = 19,
    MAXIMUM_BLOCK_X = 26,
    MAXIMUM_BLOCK_Y = 27,
    MAXIMUM_BLOCK_Z = 28,
    MAXIMUM_THREADS_PER_BLOCK = 56,
    MULTIPROCESSOR_COUNT = 63,
    MAXIMUM_SHARED_PER_BLOCK = 74,
    WARP_SIZE = 87,
    MEMORY_POOLS = 88,
} Attribute;

#define SHARED_SIZE_ATTRIBUTE 1   /* HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */

/* As much of hipDeviceProp_tR0600 as is asked for. */
typedef struct Properties {
    char name[256];
    char between[904];
    char chip[256];   /* gcnArchName: with the features that code may count on */
    char behind[56];
} Properties;

/* ------------------------------------------------------------------ device */

EXPORT int hipGetDeviceCount(int *count) {
    *count = 1;
    return SUCCESS;
}

EXPORT int hipDeviceGet(int *device, int number) {
    *device = number;
    return number == 0 ? SUCCESS : fail(INVALID_VALUE, "there is one device, number 0");
}

EXPORT int hipDeviceGetName(char *name, int capacity, int device) {
    (void)device;
    snprintf(name, (size_t)capacity, "emulated %s", chip()->name);
    return SUCCESS;
}

EXPORT int hipDeviceGetPCIBusId(char *bus, int capacity, int device) {
    (void)device;
    snprintf(bus, (size_t)capacity, "emulated");
    return SUCCESS;
}

EXPORT int hipGetDevicePropertiesR0600(Properties *properties, int device) {
    memset(properties, 0, sizeof *properties);
    snprintf(properties->chip, sizeof properties->chip, "%s:sramecc+:xnack-", chip()->name);
    return hipDeviceGetName(properties->name, sizeof properties->name, device);
}

EXPORT int hipDeviceGetUuid(unsigned char *uuid, int device) {
    (void)device;
    identify_device(uuid);
    return SUCCESS;
}

EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    log_call("device attribute %d", attribute);
    switch ((Attribute)attribute) {
        case MAXIMUM_THREADS_PER_BLOCK:
        case MAXIMUM_BLOCK_X:
        case MAXIMUM_BLOCK_Y:
        case MAXIMUM_BLOCK_Z: *value = 1024; break;
        case MAXIMUM_SHARED_PER_BLOCK: *value = chip()->shared_bytes; break;
        case L2_CACHE_BYTES: *value = EMULATED_L2_BYTES; break;
        case WARP_SIZE: *value = chip()->warp_size; break;
        case MULTIPROCESSOR_COUNT: *value = chip()->multiprocessors; break;
        case CONCURRENT_MANAGED_ACCESS:
        case MEMORY_POOLS: *value = 0; break;   /* every buffer is an allocation of its own */
        default: return fail(INVALID_VALUE, "device attribute %d is not known", attribute);
    }
    return SUCCESS;
}

/* ------------------------------------------------------------------ contexts, streams */

static int new_handle(void **handle) {
    if (handle) *handle = any_handle();
    return SUCCESS;
}

EXPORT int hipCtxGetCurrent(void **context) { return new_handle(context); }
EXPORT int hipCtxPopCurrent(void **context) { return new_handle(context); }
EXPORT int hipDevicePrimaryCtxRetain(void **context, int device) { return (void)device, new_handle(context); }
EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags) { return (void)flags, new_handle(stream); }

EXPORT int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    (void)stream;
    function(data);
    return SUCCESS;
}

/* Functions that have nothing to do here, whatever their parameters. */
#define NOTHING(name) EXPORT int name(void) { return SUCCESS; }

NOTHING(hipInit)
NOTHING(hipSetDevice)
NOTHING(hipDeviceSynchronize)
NOTHING(hipGetLastError)
NOTHING(hipCtxSetCurrent)
NOTHING(hipCtxPushCurrent)
NOTHING(hipDevicePrimaryCtxRelease)
NOTHING(hipStreamDestroy)
NOTHING(hipStreamSynchronize)
NOTHING(hipStreamWaitEvent)
NOTHING(hipEventQuery)
NOTHING(hipEventSynchronize)

/* ------------------------------------------------------------------ events */

EXPORT int hipEventCreate(Event **event) { return create_event(event); }
EXPORT int hipEventCreateWithFlags(Event **event, unsigned flags) { return (void)flags, create_event(event); }
EXPORT int hipEventDestroy(Event *event) { return destroy_event(event); }
EXPORT int hipEventRecord(Event *event, void *stream) { return (void)stream, record_event(event); }

EXPORT int hipEventElapsedTime(float *milliseconds, const Event *start, const Event *end) {
    *milliseconds = milliseconds_between(start, end);
    return SUCCESS;
}

/* ------------------------------------------------------------------ memory */

EXPORT int hipMalloc(void **address, size_t bytes) { return allocate(bytes, address); }

EXPORT int hipHostMalloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate_host(bytes, memory);
}

EXPORT int hipFree(void *address) { return release(address); }
EXPORT int hipHostFree(void *memory) { return release_host(memory); }

EXPORT int hipHostGetDevicePointer(void **address, void *memory, unsigned flags) {
    (void)flags;
    *address = memory;
    return SUCCESS;
}

/* For copies only: registered memory is not the device's, so that a kernel that uses it is found. */
NOTHING(hipHostRegister)
NOTHING(hipHostUnregister)

EXPORT int hipMemcpy(void *destination, const void *source, size_t bytes, int kind) {
    (void)kind;
    memcpy(destination, source, bytes);
    return SUCCESS;
}

EXPORT int hipMemcpyHtoD(void *destination, const void *source, size_t bytes) {
    return hipMemcpy(destination, source, bytes, 0);
}

EXPORT int hipMemcpyDtoH(void *destination, const void *source, size_t bytes) {
    return hipMemcpy(destination, source, bytes, 0);
}

EXPORT int hipMemcpyAsync(void *destination, const void *source, size_t bytes, int kind, void *stream) {
    (void)stream;
    return hipMemcpy(destination, source, bytes, kind);
}

EXPORT int hipMemcpyHtoDAsync(void *destination, void *source, size_t bytes, void *stream) {
    return hipMemcpyAsync(destination, source, bytes, 0, stream);
}

EXPORT int hipMemsetD8Async(void *destination, unsigned char value, size_t count, void *stream) {
    (void)stream;
    fill(destination, &value, sizeof value, count);
    return SUCCESS;
}

EXPORT int hipMemsetD16Async(void *destination, unsigned short value, size_t count, void *stream) {
    (void)stream;
    fill(destination, &value, sizeof value, count);
    return SUCCESS;
}

EXPORT int hipMemsetD32Async(void *destination, int value, size_t count, void *stream) {
    (void)stream;
    fill(destination, &value, sizeof value, count);
    return SUCCESS;
}

EXPORT int hipMemset(void *destination, int value, size_t bytes) {
    return hipMemsetD8Async(destination, (unsigned char)value, bytes, NULL);
}

EXPORT int hipMemsetAsync(void *destination, int value, size_t bytes, void *stream) {
    return hipMemsetD8Async(destination, (unsigned char)value, bytes, stream);
}

/* ------------------------------------------------------------------ kernels */

EXPORT int hipModuleLoadData(Module **module, const void *image) { return load_module(image, module); }

EXPORT int hipModuleLoadDataEx(Module **module, const void *image, unsigned option_count, int *options,
                               void **values) {
    (void)option_count, (void)options, (void)values;
    return load_module(image, module);
}

EXPORT int hipModuleUnload(Module *module) { return unload_module(module); }

EXPORT int hipModuleGetFunction(const Kernel **kernel, const Module *module, const char *name) {
    return find_kernel(module, name, kernel);
}

EXPORT int hipFuncGetAttribute(int *value, int attribute, const Kernel *kernel) {
    if (attribute != SHARED_SIZE_ATTRIBUTE) return fail(NOT_SUPPORTED, "function attribute %d", attribute);
    *value = static_shared_bytes(kernel);
    return SUCCESS;
}

EXPORT int hipModuleLaunchKernel(const Kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 void *stream, void **arguments, void **packed) {
    (void)stream;
    if (!arguments || packed) return fail(NOT_SUPPORTED, "packed arguments");
    uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0)
            return fail(INVALID_VALUE, "%s: a grid of %u, %u, %u workgroups", kernel->name, grid_x, grid_y, grid_z);
    return launch_kernel(kernel, grid, block, shared_bytes, arguments);
}

/* ------------------------------------------------------------------ errors and what is not there */

EXPORT const char *hipGetErrorName(int error) { return name_of((Status)error); }
EXPORT const char *hipGetErrorString(int error) { return reason_of((Status)error); }

#define UNSUPPORTED(name) \
    EXPORT int name(void) { return fail(NOT_SUPPORTED, "the emulator's HIP runtime has no %s", #name); }

UNSUPPORTED(hipDeviceCanAccessPeer)
UNSUPPORTED(hipDeviceEnablePeerAccess)
UNSUPPORTED(hipFreeAsync)
UNSUPPORTED(hipFuncSetAttribute)
UNSUPPORTED(hipGraphAddEmptyNode)
UNSUPPORTED(hipGraphAddEventRecordNode)
UNSUPPORTED(hipGraphAddKernelNode)
UNSUPPORTED(hipGraphAddMemsetNode)
UNSUPPORTED(hipGraphCreate)
UNSUPPORTED(hipGraphDestroy)
UNSUPPORTED(hipGraphExecDestroy)
UNSUPPORTED(hipGraphInstantiate)
UNSUPPORTED(hipGraphLaunch)
UNSUPPORTED(hipLaunchKernel)
UNSUPPORTED(hipMallocAsync)
UNSUPPORTED(hipMallocFromPoolAsync)
UNSUPPORTED(hipMallocManaged)
UNSUPPORTED(hipMemPoolCreate)
UNSUPPORTED(hipMemPoolDestroy)
UNSUPPORTED(hipMemPoolGetAttribute)
UNSUPPORTED(hipMemPoolSetAttribute)
UNSUPPORTED(hipMemPoolTrimTo)
UNSUPPORTED(hipMemPrefetchAsync)
UNSUPPORTED(hipModuleGetGlobal)
