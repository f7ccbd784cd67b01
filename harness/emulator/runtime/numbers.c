/* Conversions between float and the 16-bit formats, of every vendor's models.
 *
 * IEEE 754 binary16 ("half") has 5 bits of exponent and 10 of mantissa, bfloat16 is the upper half of a float.
 * NaN stays NaN, made quiet, with the payload bits that fit.
 */
#include "emulator.h"

#define SIGN 0x80000000u
#define INFINITE 0x7F800000u   /* the bits of infinity; a magnitude above is NaN */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float value_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

extern inline float float_of_half(uint16_t bits);   /* for callers that do not inline it */

uint16_t half_of_float(float value) {
    uint32_t sign = bits_of(value) >> 16 & 0x8000;
    uint32_t magnitude = bits_of(value) & ~SIGN;
    if (magnitude > INFINITE) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= bits_of(65520.0f)) return (uint16_t)(sign | 0x7C00);   /* half way past the largest, 65504 */
    if (magnitude < bits_of(0x1p-14f)) {
        /* Below the normal numbers halves are the multiples of 2^-24, as floats from 0.5 to 1 are: this sum
         * rounds like one of them. */
        return (uint16_t)(sign | (bits_of(value_of(magnitude) + 0.5f) - bits_of(0.5f)));
    }
    uint32_t last = magnitude >> 13 & 1;   /* bit of the result that a tie makes even */
    uint32_t rounded = (magnitude + 0xFFF + last) >> 13;
    return (uint16_t)(sign | (rounded - (112u << 10)));
}

uint16_t bfloat16_of_float(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & ~SIGN) > INFINITE) return (uint16_t)(bits >> 16 | 0x40);
    uint32_t last = bits >> 16 & 1;
    return (uint16_t)((bits + 0x7FFF + last) >> 16);
}
