/* Numbers whose type a builtin's name gives, which the registry passes as a letter: 'f' float, 'D' half ("Dh"). */
#ifndef HARNESS_EMULATOR_INTEL_ELEMENTS_H
#define HARNESS_EMULATOR_INTEL_ELEMENTS_H

#include "emulator.h"

static inline size_t element_bytes(int type) { return type == 'f' ? sizeof(float) : sizeof(uint16_t); }

static inline double load_element(int type, const char *address) {
    if (type == 'f') {
        float value;
        memcpy(&value, address, sizeof value);
        return value;
    }
    uint16_t bits;
    memcpy(&bits, address, sizeof bits);
    return float_of_half(bits);
}

/* The neighbour of an f64 in f32 whose last bit is odd, or the same value: rounding it to f16 afterwards gives what
 * rounding the f64 at once would. */
static inline float rounded_to_odd(double value) {
    float nearest = (float)value;
    if ((double)nearest == value || value != value) return nearest;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    if ((nearest > value) == (value > 0)) bits--;    /* towards zero */
    bits |= 1;
    memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

/* Store a number rounded to nearest. */
static inline void store_element(int type, char *address, double value) {
    float rounded = (float)value;
    uint16_t half = half_of_float(rounded_to_odd(value));
    if (type == 'f') memcpy(address, &rounded, sizeof rounded);
    else memcpy(address, &half, sizeof half);
}

#endif
