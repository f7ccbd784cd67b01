/* What the stub drivers have in common: one device, on whose streams everything is done at once. */
#ifndef HARNESS_EMULATOR_DEVICE_H
#define HARNESS_EMULATOR_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "registry.h"

#define EXPORT __attribute__((visibility("default")))

#define EMULATED_L2_BYTES 4096

/* CUDA and HIP number them alike. */
typedef enum Status {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
} Status;

typedef struct Chip {
    const char *name;
    int warp_size;
    int multiprocessors;
    int shared_bytes;           /* that a workgroup may have */
    int default_shared_bytes;   /* that it may have unless its kernel asks for more */
} Chip;

typedef struct Module Module;

/* A moment of the host's clock: everything that was enqueued before is done. */
typedef struct timespec Event;

/* For Python, before the driver is used: which chip the device is.  Returns -1 for one that is not known.  Where
 * nobody selects one it is that of $HARNESS_STUB_CHIP: a whole machine can have the stub for its driver. */
EXPORT int stub_select_chip(const char *name);
/* Why a call failed first since then; empty if none has. */
EXPORT const char *stub_first_failure(void);

const Chip *chip(void);

/* A handle of a stream, or a context: nothing is pending on any, so that they are all the same. */
void *any_handle(void);
Status create_event(Event **event);
Status destroy_event(Event *event);
Status record_event(Event *event);
float milliseconds_between(const Event *start, const Event *end);
void identify_device(unsigned char uuid[16]);

Status allocate(size_t bytes, void **address);
Status release(void *address);
/* Memory of the host that kernels may use; most of it is only there to copy from and to. */
Status allocate_host(size_t bytes, void **memory);
Status release_host(void *memory);
void fill(void *destination, const void *pattern, size_t pattern_bytes, size_t count);

/* Find the kernels of an image; it is an error if it has not been registered. */
Status load_module(const void *image, Module **module);
Status unload_module(Module *module);
Status find_kernel(const Module *module, const char *name, const Kernel **kernel);
/* Shared memory that a workgroup has without what the launch adds. */
int static_shared_bytes(const Kernel *kernel);
Status launch_kernel(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_bytes,
                     void **arguments);

/* Remember why a call fails, for `reason_of`. */
Status fail(Status status, const char *reason, ...) __attribute__((format(printf, 2, 3)));
const char *name_of(Status status);
const char *reason_of(Status status);
/* Write a line to standard error if $HARNESS_EMULATOR_LOG is set. */
void log_call(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
