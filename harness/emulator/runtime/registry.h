/* What stub drivers and Python tell one another: which kernels an image holds, how they are to be launched, and
 * what became of the launches. */
#ifndef HARNESS_EMULATOR_REGISTRY_H
#define HARNESS_EMULATOR_REGISTRY_H

#include "launch.h"

typedef struct RegisteredImage {
    const char *bytes;
    size_t size;
    const Kernel *const *kernels;
    size_t kernel_count;
} RegisteredImage;

/* A launch that a driver was asked for. */
typedef struct LaunchRecord {
    const Kernel *kernel;
    int32_t refused;         /* whether the launch was impossible; the first finding says why */
    int32_t unused;
    LaunchOutcome outcome;
} LaunchRecord;

/* Announce what a driver will be given to load.  Nothing is copied.  Returns -1 where there are too many. */
int emulator_register_image(const void *image, size_t size, const Kernel *const *kernels, size_t kernel_count);
void emulator_forget_images(void);
/* The registered image that begins at this address, where neither PTX nor ELF needs to say how long it is. */
const RegisteredImage *emulator_find_image(const void *image);
size_t emulator_image_count(void);

/* Say how kernels are launched from now on, and forget the launches so far. */
void emulator_prepare_launches(const LaunchOptions *options);
/* Launch as prepared and keep the outcome; the lock must be held.  Null: out of memory. */
const LaunchRecord *emulator_launch_recorded(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                                             uint32_t dynamic_shared_bytes, void **arguments);
size_t emulator_launch_count(void);
const LaunchRecord *emulator_launch_record(size_t number);

#endif
