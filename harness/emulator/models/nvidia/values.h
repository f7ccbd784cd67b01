/* Numbers as NVIDIA's instructions treat them, for the lane models. */
#ifndef HARNESS_NVIDIA_VALUES_H
#define HARNESS_NVIDIA_VALUES_H

#include <float.h>
#include <math.h>

#include "emulator.h"

/* A 32-bit register that holds two 16-bit numbers, the first in the lower half: `<2 x half>`, `<2 x bfloat>`. */
typedef struct Pair {
    uint16_t element[2];
} Pair;

#define CANONICAL_NAN 0x7FFFFFFFu

static inline uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* `.ftz`: a subnormal number becomes a zero of the same sign (PTX ISA 9.2, section 9.7.3, "Floating Point
 * Instructions"); to be applied to operands and result. */
static inline float flushed(float value) { return fabsf(value) < FLT_MIN ? copysignf(0.0f, value) : value; }

/* `.sat`: limited to [0, 1], NaN becomes +0 (the same section). */
static inline float saturated(float value) {
    if (!(value > 0.0f)) return 0.0f;
    return value > 1.0f ? 1.0f : value;
}

#endif
