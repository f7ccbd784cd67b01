/* A stand-in for libOpenCL.so.1 with one of Intel's GPUs: as much of OpenCL 3.0 and of
 * cl_intel_unified_shared_memory as this harness's device executor asks for, on the emulator.
 *
 * Everything is done when its call returns, so that contexts and queues are empty names, and an event is a moment of
 * the host's clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define MOST_ARGUMENTS 32
#define ONE_DIMENSION 1

/* cl_int */
typedef enum Error {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_INVALID_VALUE = -30,
    CL_INVALID_BINARY = -42,
    CL_INVALID_KERNEL_NAME = -46,
    CL_INVALID_ARGUMENT_INDEX = -49,
    CL_INVALID_KERNEL_ARGUMENTS = -52,
    CL_INVALID_WORK_GROUP_SIZE = -54,
    CL_INVALID_OPERATION = -59,
} Error;

/* cl_device_type, cl_device_info, cl_profiling_info, cl_program_build_info */
#define GPU_TYPE (1u << 2)
#define DEVICE_TYPE 0x1000
#define VENDOR_ID 0x1001
#define CACHE_BYTES 0x101E
#define MEMORY_BYTES 0x101F
#define DEVICE_NAME 0x102B
#define DRIVER_VERSION 0x102D
#define IP_VERSION 0x4250
#define PROFILING_END 0x1283
#define BUILD_LOG 0x1183

#define INTEL 0x8086
#define EMULATED_MEMORY_BYTES (1ull << 30)

/* The versions of graphics cores: 22 bits for the major number from bit 22 on, 8 for the minor one from bit 14 on. */
typedef struct Cores {
    const char *chip;
    uint32_t version;
} Cores;

static const Cores cores[] = {{"bmg", 20u << 22 | 1u << 14}, {"pvc", 12u << 22 | 60u << 14}};

typedef struct KernelObject {
    const Kernel *kernel;
    void *arguments[MOST_ARGUMENTS];
} KernelObject;

static int error_of(Status status) {
    switch (status) {
        case SUCCESS: return CL_SUCCESS;
        case OUT_OF_MEMORY: return CL_OUT_OF_HOST_MEMORY;
        case INVALID_IMAGE: return CL_INVALID_BINARY;
        case NOT_FOUND: return CL_INVALID_KERNEL_NAME;
        case LAUNCH_FAILED: return CL_OUT_OF_RESOURCES;
        case NOT_SUPPORTED: return CL_INVALID_OPERATION;
        case INVALID_VALUE: break;
    }
    return CL_INVALID_VALUE;
}

/* ------------------------------------------------------------------ platform, device */

static int list_one(unsigned capacity, void **handles, unsigned *count) {
    if (count) *count = 1;
    if (handles && capacity) *handles = any_handle();
    return CL_SUCCESS;
}

EXPORT int clGetPlatformIDs(unsigned capacity, void **platforms, unsigned *count) {
    return list_one(capacity, platforms, count);
}

EXPORT int clGetDeviceIDs(void *platform, uint64_t type, unsigned capacity, void **devices, unsigned *count) {
    (void)platform;
    return type & GPU_TYPE ? list_one(capacity, devices, count) : CL_DEVICE_NOT_FOUND;
}

static int give(const void *value, size_t bytes, size_t capacity, void *destination, size_t *size) {
    if (size) *size = bytes;
    if (!destination) return CL_SUCCESS;
    if (capacity < bytes) return error_of(fail(INVALID_VALUE, "room for %zu bytes, %zu needed", capacity, bytes));
    memcpy(destination, value, bytes);
    return CL_SUCCESS;
}

EXPORT int clGetDeviceInfo(void *device, unsigned property, size_t capacity, void *value, size_t *size) {
    (void)device;
    uint32_t vendor = INTEL, version = 0;
    uint64_t type = GPU_TYPE, cache = EMULATED_L2_BYTES, memory = EMULATED_MEMORY_BYTES;
    char name[40];
    switch (property) {
        case DEVICE_TYPE: return give(&type, sizeof type, capacity, value, size);
        case VENDOR_ID: return give(&vendor, sizeof vendor, capacity, value, size);
        case CACHE_BYTES: return give(&cache, sizeof cache, capacity, value, size);
        case MEMORY_BYTES: return give(&memory, sizeof memory, capacity, value, size);
        case DRIVER_VERSION: return give("emulator", sizeof "emulator", capacity, value, size);
        case DEVICE_NAME:
            snprintf(name, sizeof name, "emulated %s", chip()->name);
            return give(name, strlen(name) + 1, capacity, value, size);
        case IP_VERSION:
            for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
                if (strcmp(cores[i].chip, chip()->name) == 0) version = cores[i].version;
            return give(&version, sizeof version, capacity, value, size);
        default: return error_of(fail(INVALID_VALUE, "device property 0x%x is not known", property));
    }
}

/* ------------------------------------------------------------------ context, queue, events */

static void *made(void *handle, int error, int *told) {
    if (told) *told = error;
    return error ? NULL : handle;
}

EXPORT void *clCreateContext(const intptr_t *properties, unsigned count, void **devices, void *notify, void *data,
                             int *error) {
    (void)properties, (void)count, (void)devices, (void)notify, (void)data;
    return made(any_handle(), CL_SUCCESS, error);
}

EXPORT void *clCreateCommandQueueWithProperties(void *context, void *device, const uint64_t *properties, int *error) {
    (void)context, (void)device, (void)properties;
    return made(any_handle(), CL_SUCCESS, error);
}

EXPORT int clFinish(void *queue) { return (void)queue, CL_SUCCESS; }

static int reach(Event **event) {
    if (!event) return CL_SUCCESS;
    Status status = create_event(event);
    return error_of(status ? status : record_event(*event));
}

EXPORT int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void **events, Event **event) {
    (void)queue, (void)count, (void)events;
    return reach(event);
}

EXPORT int clWaitForEvents(unsigned count, void **events) { return (void)count, (void)events, CL_SUCCESS; }
EXPORT int clReleaseEvent(Event *event) { return error_of(destroy_event(event)); }

EXPORT int clGetEventProfilingInfo(const Event *event, unsigned what, size_t capacity, void *value, size_t *size) {
    if (what != PROFILING_END) return error_of(fail(INVALID_VALUE, "time 0x%x of an event is not known", what));
    uint64_t nanoseconds = (uint64_t)event->tv_sec * 1000000000u + (uint64_t)event->tv_nsec;
    return give(&nanoseconds, sizeof nanoseconds, capacity, value, size);
}

/* ------------------------------------------------------------------ memory */

static void *clDeviceMemAllocINTEL(void *context, void *device, const uint64_t *properties, size_t bytes,
                                   unsigned alignment, int *error) {
    (void)context, (void)device, (void)properties, (void)alignment;
    void *address = NULL;
    Status status = allocate(bytes, &address);
    return made(address, error_of(status), error);
}

static int clMemBlockingFreeINTEL(void *context, void *address) { return (void)context, error_of(release(address)); }

static int clEnqueueMemcpyINTEL(void *queue, unsigned is_blocking, void *destination, const void *source, size_t bytes,
                                unsigned count, void **events, Event **event) {
    (void)queue, (void)is_blocking, (void)count, (void)events;
    memcpy(destination, source, bytes);
    return reach(event);
}

static int clEnqueueMemFillINTEL(void *queue, void *destination, const void *pattern, size_t pattern_bytes, size_t bytes,
                                 unsigned count, void **events, Event **event) {
    (void)queue, (void)count, (void)events;
    if (!pattern_bytes || bytes % pattern_bytes)
        return error_of(fail(INVALID_VALUE, "%zu bytes are no multiple of a pattern's %zu", bytes, pattern_bytes));
    fill(destination, pattern, pattern_bytes, bytes / pattern_bytes);
    return reach(event);
}

/* ------------------------------------------------------------------ programs, kernels */

EXPORT void *clCreateProgramWithIL(void *context, const void *image, size_t bytes, int *error) {
    (void)context, (void)bytes;
    Module *module = NULL;
    Status status = load_module(image, &module);
    return made(module, error_of(status), error);
}

EXPORT int clBuildProgram(Module *program, unsigned count, void **devices, const char *options, void *notify,
                          void *data) {
    (void)program, (void)count, (void)devices, (void)notify, (void)data;
    log_call("build with options \"%s\"", options);
    return CL_SUCCESS;
}

EXPORT int clGetProgramBuildInfo(Module *program, void *device, unsigned what, size_t capacity, void *value,
                                 size_t *size) {
    (void)program, (void)device;
    if (what != BUILD_LOG) return error_of(fail(INVALID_VALUE, "property 0x%x of a build is not known", what));
    return give("", 1, capacity, value, size);
}

EXPORT int clReleaseProgram(Module *program) { return error_of(unload_module(program)); }

EXPORT void *clCreateKernel(const Module *program, const char *name, int *error) {
    KernelObject *object = calloc(1, sizeof *object);
    if (!object) return made(NULL, CL_OUT_OF_HOST_MEMORY, error);
    Status status = find_kernel(program, name, &object->kernel);
    if (status) free(object);
    return made(object, error_of(status), error);
}

EXPORT int clReleaseKernel(KernelObject *object) {
    free(object);
    return CL_SUCCESS;
}

static int clSetKernelArgMemPointerINTEL(KernelObject *object, unsigned index, const void *address) {
    if (index >= MOST_ARGUMENTS || (int32_t)index >= object->kernel->argument_count) {
        fail(INVALID_VALUE, "%s has no argument %u", object->kernel->name, index);
        return CL_INVALID_ARGUMENT_INDEX;
    }
    object->arguments[index] = (void *)(uintptr_t)address;
    return CL_SUCCESS;
}

EXPORT int clEnqueueNDRangeKernel(void *queue, KernelObject *object, unsigned dimensions, const size_t *offset,
                                  const size_t *items, const size_t *workgroup, unsigned count, void **events,
                                  Event **event) {
    (void)queue, (void)count, (void)events;
    const char *name = object->kernel->name;
    if (dimensions != ONE_DIMENSION || offset)
        return error_of(fail(NOT_SUPPORTED, "%s: several dimensions, or an offset", name));
    if (!*workgroup || *items % *workgroup) {
        fail(INVALID_VALUE, "%s: %zu work-items in groups of %zu", name, *items, *workgroup);
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    if (object->kernel->argument_count > MOST_ARGUMENTS) {
        fail(INVALID_VALUE, "%s: more than %d arguments", name, MOST_ARGUMENTS);
        return CL_INVALID_KERNEL_ARGUMENTS;
    }
    void *values[MOST_ARGUMENTS];
    for (int i = 0; i < MOST_ARGUMENTS; i++) values[i] = &object->arguments[i];
    uint32_t grid[3] = {(uint32_t)(*items / *workgroup), 1, 1}, block[3] = {(uint32_t)*workgroup, 1, 1};
    Status status = launch_kernel(object->kernel, grid, block, 0, values);
    return status ? error_of(status) : reach(event);
}

/* ------------------------------------------------------------------ what is found by its name */

#define FOUND(function) \
    if (strcmp(name, #function) == 0) return (void *)function

EXPORT void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) {
    (void)platform;
    FOUND(clDeviceMemAllocINTEL);
    FOUND(clMemBlockingFreeINTEL);
    FOUND(clEnqueueMemcpyINTEL);
    FOUND(clEnqueueMemFillINTEL);
    FOUND(clSetKernelArgMemPointerINTEL);
    return NULL;
}
