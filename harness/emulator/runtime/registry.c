/* Kernels by the image that a driver loads them from, and the launches that drivers were asked for. */
#include <stdlib.h>
#include <string.h>

#include "registry.h"

#define MAXIMUM_IMAGES 256
#define MAXIMUM_ORDERS 16

static RegisteredImage images[MAXIMUM_IMAGES];
static size_t image_count;

static uint64_t orders[MAXIMUM_ORDERS];
static LaunchOptions prepared = {.processes = 1, .order_count = 1, .orders = orders};

static LaunchRecord **records;
static size_t record_count, record_capacity;

int emulator_register_image(const void *image, size_t size, const Kernel *const *kernels, size_t kernel_count) {
    if (image_count == MAXIMUM_IMAGES) return -1;
    images[image_count++] =
        (RegisteredImage){.bytes = image, .size = size, .kernels = kernels, .kernel_count = kernel_count};
    return 0;
}

void emulator_forget_images(void) { image_count = 0; }

/* Stops at the first difference: what is compared is never longer than what is there, because one image is not
 * the beginning of another one. */
static int begins_with(const char *image, const RegisteredImage *known) {
    for (size_t i = 0; i < known->size; i++)
        if (image[i] != known->bytes[i]) return 0;
    return 1;
}

const RegisteredImage *emulator_find_image(const void *image) {
    for (size_t i = 0; i < image_count; i++)
        if (begins_with(image, &images[i])) return &images[i];
    return NULL;
}

size_t emulator_image_count(void) { return image_count; }

void emulator_prepare_launches(const LaunchOptions *options) {
    prepared = *options;
    if (prepared.order_count > MAXIMUM_ORDERS) prepared.order_count = MAXIMUM_ORDERS;
    memcpy(orders, options->orders, sizeof orders[0] * (size_t)prepared.order_count);
    prepared.orders = orders;
    for (size_t i = 0; i < record_count; i++) free(records[i]);
    record_count = 0;
}

static LaunchRecord *new_record(void) {
    if (record_count == record_capacity) {
        size_t capacity = record_capacity ? 2 * record_capacity : 16;
        LaunchRecord **larger = realloc(records, capacity * sizeof *records);
        if (!larger) return NULL;
        records = larger;
        record_capacity = capacity;
    }
    LaunchRecord *record = calloc(1, sizeof *record);
    if (record) records[record_count++] = record;
    return record;
}

const LaunchRecord *emulator_launch_recorded(const Kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                                             uint32_t dynamic_shared_bytes, void **arguments) {
    LaunchRecord *record = new_record();
    if (!record) return NULL;
    record->kernel = kernel;
    record->refused = emulator_launch(kernel, grid, block, dynamic_shared_bytes, arguments, &prepared,
                                      &record->outcome) != 0;
    return record;
}

size_t emulator_launch_count(void) { return record_count; }

const LaunchRecord *emulator_launch_record(size_t number) { return records[number]; }
