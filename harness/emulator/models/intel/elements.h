/* Values whose type a builtin's name gives.
 *
 * The registry passes a type as the letter of mangled names: 'c' char, 'h' uchar, 's' short, 't' ushort, 'i' int,
 * 'j' uint, 'l' long, 'm' ulong, 'f' float, 'd' double, and 'D' for half, whose mangled name is "Dh".
 */
#ifndef HARNESS_EMULATOR_INTEL_ELEMENTS_H
#define HARNESS_EMULATOR_INTEL_ELEMENTS_H

#include "emulator.h"

/* A value of any of the types, in the widest type of its kind. */
typedef union Number {
    int64_t integer;     /* of c, s, i, l */
    uint64_t natural;    /* of h, t, j, m */
    double real;         /* of D, f, d */
} Number;

static inline int is_real(int type) {
    return type == 'D' || type == 'f' || type == 'd';
}

static inline int is_natural(int type) {
    return type == 'h' || type == 't' || type == 'j' || type == 'm';
}

static inline size_t element_bytes(int type) {
    switch (type) {
    case 'c': case 'h': return 1;
    case 's': case 't': case 'D': return 2;
    case 'i': case 'j': case 'f': return 4;
    default: return 8;
    }
}

static inline Number load_element(int type, const char *address) {
    union {
        int8_t c; uint8_t h; int16_t s; uint16_t t; int32_t i; uint32_t j; int64_t l; uint64_t m;
        float f; double d;
    } bits = {.m = 0};
    memcpy(&bits, address, element_bytes(type));
    switch (type) {
    case 'c': return (Number){.integer = bits.c};
    case 'h': return (Number){.natural = bits.h};
    case 's': return (Number){.integer = bits.s};
    case 't': return (Number){.natural = bits.t};
    case 'i': return (Number){.integer = bits.i};
    case 'j': return (Number){.natural = bits.j};
    case 'l': return (Number){.integer = bits.l};
    case 'm': return (Number){.natural = bits.m};
    case 'D': return (Number){.real = float_of_half(bits.t)};
    case 'f': return (Number){.real = bits.f};
    default: return (Number){.real = bits.d};
    }
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

/* Integers keep their low bits; real numbers are rounded to nearest. */
static inline void store_element(int type, char *address, Number value) {
    if (type == 'f') {
        float rounded = (float)value.real;
        memcpy(address, &rounded, sizeof rounded);
    } else if (type == 'D') {
        uint16_t rounded = half_of_float(rounded_to_odd(value.real));
        memcpy(address, &rounded, sizeof rounded);
    } else {
        memcpy(address, &value, element_bytes(type));
    }
}

#endif
