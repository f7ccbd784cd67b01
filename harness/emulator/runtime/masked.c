/* Masked loads and stores of vectors, element by element. */
#include "buffers.h"
#include "internal.h"

static void load(char *address, char *value, uint64_t bytes, int32_t is_buffer, int32_t site) {
    if (is_buffer) buffer_load(address, value, bytes, site);
    else memcpy(value, emulator_load_address(address, bytes, 1, site), bytes);
}

static void store(char *address, const char *value, uint64_t bytes, int32_t is_buffer, int32_t site) {
    if (is_buffer) buffer_store(address, value, bytes, site);
    else memcpy(emulator_store_address(address, bytes, 1, site), value, bytes);
}

void emulator_load_elements(char *address, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                            int32_t site) {
    for (uint64_t i = 0; i < 64; i++)
        if (mask >> i & 1) load(address + bytes * i, values + bytes * i, bytes, is_buffer, site);
}

void emulator_store_elements(char *address, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                             int32_t site) {
    for (uint64_t i = 0; i < 64; i++)
        if (mask >> i & 1) store(address + bytes * i, values + bytes * i, bytes, is_buffer, site);
}

void emulator_gather(char *const *addresses, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                     int32_t site) {
    for (uint64_t i = 0; i < 64; i++)
        if (mask >> i & 1) load(addresses[i], values + bytes * i, bytes, is_buffer, site);
}

void emulator_scatter(char *const *addresses, char *values, uint64_t bytes, uint64_t mask, int32_t is_buffer,
                      int32_t site) {
    for (uint64_t i = 0; i < 64; i++)
        if (mask >> i & 1) store(addresses[i], values + bytes * i, bytes, is_buffer, site);
}
